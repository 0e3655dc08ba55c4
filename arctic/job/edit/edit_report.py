"""What a delete, an update or a merge did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EditReport:
    """What one call did; a count is None where finding it out would have meant reading rows."""

    table: str
    snapshot_id: int | None
    """The one snapshot it made; None when no row was meant."""
    rows_deleted: int | None = 0
    rows_updated: int | None = 0
    rows_inserted: int | None = 0
    rows_written: int = 0
    """Rows in the files that were written; 0 where only metadata was. The marks by which a merge
    deletes rows of a table without a key are not counted."""
    reads_table: bool = True
    """Whether rows of the table were read."""
    attempts: int = 1
    """The first one included; others committed during each before the last."""
    seconds: float = 0.0

    def __str__(self) -> str:
        """Return a line for a terminal."""
        if self.snapshot_id is None:
            return f"{self.table}: no row was meant"
        counts = {
            "deleted": self.rows_deleted,
            "updated": self.rows_updated,
            "inserted": self.rows_inserted,
        }
        said = [
            f"{'an unknown number of' if count is None else f'{count:,}'} rows {what}"
            for what, count in counts.items()
            if count != 0
        ]
        done = ", ".join(said) or "nothing"
        return f"{self.table}: {done}, in {self.seconds:.1f} s; snapshot {self.snapshot_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneEdit:
    """An edit that is over, for whoever does what is to follow it."""

    report: EditReport
    properties: Mapping[str, str]
    """Of the table as it was edited."""
