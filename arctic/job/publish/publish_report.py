"""What one publish did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishReport:
    """What one publish did."""

    table: str
    into: str
    """The plain Iceberg table that shows it."""
    base_snapshot_id: int | None
    """The snapshots of the state that is shown; None: the store had none."""
    change_snapshot_id: int | None
    snapshot_id: int | None = None
    """Of the published table; None: it showed that state already."""
    data_files_added: int = 0
    """Taken over by reference; with output ``clean``, also copies."""
    data_files_removed: int = 0
    delete_files_added: int = 0
    """Or vectors: one for each data file whose dead rows changed; none with output ``clean``."""
    delete_files_removed: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        """Return a line for a terminal."""
        if self.snapshot_id is None:
            return f"{self.table}: {self.into} shows it as it is"
        return (
            f"{self.table}: published as {self.into} in {self.seconds:.1f} s; data files "
            f"+{self.data_files_added:,} -{self.data_files_removed:,}, delete files "
            f"+{self.delete_files_added:,} -{self.delete_files_removed:,}; snapshot "
            f"{self.snapshot_id}"
        )
