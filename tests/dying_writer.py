"""A writer that dies around one of its commits, as a process does that is killed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from arctic.job.mirror.write_changes import write_here


class DiedError(Exception):
    """The process is taken to be gone."""


@dataclass(slots=True, kw_only=True)
class DyingWriter:
    """Commits as often as it is allowed, then dies."""

    before: bool
    """It dies before a commit, else right after the next one."""
    left: int = 0
    """Commits that it lives through."""
    commits: int = 0
    """All that were made."""

    def __call__(self, rows: pa.RecordBatchReader, options: Mapping[str, str]) -> None:
        """Write rows in this process."""
        if self.before and self.left == 0:
            raise DiedError
        write_here(rows, options)
        self.commits += 1
        self.left -= 1
        if not self.before and self.left < 0:
            raise DiedError
