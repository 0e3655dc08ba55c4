"""Modules that a Python worker of Spark's has imported, kept from its collector of garbage.

Spark's worker collects all garbage after every task, and cannot take the next one meanwhile. Going
through the modules of a read or write takes longer than reading or writing fifty thousand rows.
"""

from __future__ import annotations

import gc
from functools import cache


@cache
def spare_imports() -> None:
    """Take what is there now out of later collections, once in a process.

    Objects are freed as ever when nothing refers to them; only those that refer to each other in a
    circle, are alive now and die later stay until the process ends. Counting what is frozen goes
    through all of it, so that is done once too.
    """
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()
