"""How often each case of random histories occurred, for ``make fuzz-layers`` to add up.

Cases are named before any occurs, so one that never does is told as 0 instead of being left out.
"""

from __future__ import annotations

import atexit
import json
import os
from collections import Counter
from pathlib import Path

_COUNTS: Counter[str] = Counter()


def may_occur(*cases: str) -> None:
    """Name cases, in the order in which they are told."""
    _COUNTS.update(dict.fromkeys(cases, 0))


def occurred(case: str) -> None:
    """Count a case that was named."""
    assert case in _COUNTS, case
    _COUNTS[case] += 1


@atexit.register
def _tell() -> None:
    """Write the counts of this process where it was told to."""
    if "ARCTIC_DRAWN" in os.environ:
        Path(os.environ["ARCTIC_DRAWN"]).write_text(json.dumps(_COUNTS))
