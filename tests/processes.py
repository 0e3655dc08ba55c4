"""Processes of tests that need several: each is forked from one that has imported everything.

To import Arctic and what it is built on takes seconds of a core, in every process that is spawned.
What they are forked from has run nothing else, so it has neither threads nor connections.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import ForkServerContext

_IMPORTED = [
    *("arctic.api.tables", "arctic.api.rows", "arctic.api.sharing", "arctic.with_spark", "pytest"),
    # What every child would import by its first statement of a catalog, or its first join.
    *("pyarrow.acero", "sqlalchemy.dialects.sqlite"),
]


def forked() -> ForkServerContext:
    """Return where to get processes, pools and what they share."""
    context = multiprocessing.get_context("forkserver")
    # One server serves a whole run of tests: it imports the same for all of them.
    context.set_forkserver_preload(_IMPORTED)
    return context
