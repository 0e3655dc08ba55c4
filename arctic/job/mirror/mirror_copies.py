"""Copies of source tables into their mirrors: first, again, and of rows that the log misprints."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from arctic.job.mirror.mirror_table import MirrorTable
from arctic.job.mirror.write_changes import WriteRows
from arctic.postgres.copy import copied, one_moment
from arctic.postgres.source_tables import SourceTable, find_table, parse_name


class Copies:
    """Copies tables over one connection."""

    def __init__(self, connection: Any, write: WriteRows) -> None:
        self._connection = connection
        self._write = write
        self._broken: list[pa.Table] = []

    def copy(
        self, mirror: MirrorTable, source: SourceTable, *, mode: str, only_special: bool = False
    ) -> None:
        """Write the rows of a source, as the current transaction sees them, in one commit."""
        pieces = copied(self._connection, source, only_special=only_special)
        mirror.write_copy(mirror.read_copy(pieces, self._broken), mode, self._write)

    def clear(self, mirror: MirrorTable) -> None:
        """Remove all rows of a mirror."""
        mirror.write_copy(iter(()), "overwrite", self._write)

    def copy_now(self, mirror: MirrorTable, *, only_special: bool) -> bool:
        """Upsert the rows of a source as they are now.

        Returns:
            Whether that could be done: else the columns of the source have to be followed first.
        """
        name = parse_name(mirror.state.table)
        if find_table(self._connection, *name) is None:
            return True
        with one_moment(self._connection, [name], snapshot=None):
            now = find_table(self._connection, *name)
            if now is None or not mirror.is_like(now):
                return False
            if mirror.state.copy_replaces and not only_special:
                self.clear(mirror)
            self.copy(mirror, now, mode="upsert", only_special=only_special)
        return True

    def take_broken(self) -> list[pa.Table]:
        """Return the rows that could not be read since the last call."""
        broken, self._broken = self._broken, []
        return broken
