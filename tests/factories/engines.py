"""Engines that read files of a table themselves, as they tell of themselves."""

from __future__ import annotations

from arctic.job.read.engine_share import Engine

ABLE = Engine(
    parallelism=3,
    snapshot=None,
    reads_files=True,
    skips_rows=True,
    takes_groups=True,
    is_filtered=False,
    limit=None,
    own_columns=frozenset({"row_index"}),
    groups=None,
)
"""One that can do all that is asked of one."""
