"""Python's cycle collector, kept still while very many objects are made.

Ten thousand files are a million objects without a cycle among them: going over them again and
again was measured to take half of the time of a listing, and of a plan; going over them once, when
it ends, still one part in twenty. So they join the old objects unseen.

Only those who list or plan in a process that is theirs at that moment pause it: the listing of
manifests, and a read around its plan. What decides never does.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the cycle collector from running; also a decorator."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():  # what the application froze stays so
                gc.freeze()
                gc.unfreeze()
            gc.enable()
