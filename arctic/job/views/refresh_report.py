"""What a refresh of a view did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshReport:
    """What a refresh of a view did."""

    view: str
    is_full: bool
    """All rows were computed anew; else what changed."""
    upserts: int
    """Rows that came or changed."""
    deletes: int
    """Rows that went."""
    snapshot_id: int | None
    """The one snapshot it made; None: there was nothing to do, as no source had changed."""
    seconds: float

    def __str__(self) -> str:
        """Return a line for a terminal."""
        if self.snapshot_id is None:
            return f"{self.view}: nothing has changed"
        how = "computed anew" if self.is_full else "kept up"
        return (
            f"{self.view}: {how}; {self.upserts:,} rows came or changed and {self.deletes:,} went, "
            f"in {self.seconds:.1f} s; snapshot {self.snapshot_id}"
        )
