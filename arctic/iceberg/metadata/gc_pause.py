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

_has_frozen = False


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the cycle collector from running; also a decorator."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            _join_the_old()
            gc.enable()


def _join_the_old() -> None:
    """Have the collector take all objects for old, unless the application froze some: those stay.

    Frozen objects are counted one by one, which takes milliseconds where they are a process's
    modules, so once some were found nothing is counted again.
    """
    global _has_frozen
    if not _has_frozen:
        _has_frozen = gc.get_freeze_count() > 0
    if not _has_frozen:
        gc.freeze()
        gc.unfreeze()
