"""Copies of source tables into their mirrors: first, again, and of rows that the log misprints."""

from __future__ import annotations

import pyarrow as pa

from arctic.cdc.source_table import SourceTable
from arctic.job.mirror.mirror_source import MirrorSource
from arctic.job.mirror.mirror_table import MirrorTable
from arctic.job.mirror.write_changes import WriteRows


class Copies:
    """Copies tables of one source."""

    def __init__(self, source: MirrorSource, write: WriteRows) -> None:
        self._source = source
        self._write = write
        self._broken: list[pa.Table] = []

    def copy(
        self, mirror: MirrorTable, source: SourceTable, *, mode: str, only_special: bool = False
    ) -> None:
        """Write the rows of a source, as the current transaction sees them, in one commit."""
        pieces = self._source.rows(source, only_special=only_special)
        mirror.write_copy(mirror.read_copy(pieces, self._broken), mode, self._write)

    def clear(self, mirror: MirrorTable) -> None:
        """Remove all rows of a mirror."""
        mirror.write_copy(iter(()), "overwrite", self._write)

    def copy_now(self, mirror: MirrorTable, *, only_special: bool) -> int | None:
        """Upsert the rows of a source as they are now, or put them in the place of all rows.

        Returns:
            Up to where of the log exactly the changes are in the copy; -1: that is not known. None:
            the columns of the source have to be followed first.
        """
        name = mirror.state.table
        if self._source.find(name, mirror.state) is None:
            return -1
        with self._source.one_moment(name) as place:
            now = self._source.find(name, mirror.state)
            if now is None or not mirror.is_like(now):
                return None
            replaces = mirror.state.copy_replaces and not only_special
            mode = "overwrite" if replaces else "upsert"
            self.copy(mirror, now, mode=mode, only_special=only_special)
        return place

    def take_broken(self) -> list[pa.Table]:
        """Return the rows that could not be read since the last call."""
        broken, self._broken = self._broken, []
        return broken
