"""What a read has touched, counted while it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Touched:
    """Counts of one read. The only record here that changes: a reader adds to it."""

    files: int = 0
    """Data files that were opened; one is opened once more for each piece of deletes that do not
    fit in memory."""
    row_groups: int = 0
    """Row groups that those files have."""
    outside_bounds: int = 0
    """Row groups whose bounds exclude the filter: nothing of them was read."""
    outside_blooms: int = 0
    """Row groups whose bloom filters exclude a value of the filter: only these were read."""
    without_match: int = 0
    """Row groups of which only the filter's columns were read, because no row is left."""
    passed: int = 0
    """Row groups whose keys were not looked up, because no change delete can hold one of them."""
    merged: int = 0
    """Row groups whose keys were looked up in change deletes."""
    delete_files: int = 0
    """Files of change deletes that were opened."""
    delete_rows: int = 0
    """Change deletes that were read from them, after the filter."""

    @property
    def read(self) -> int:
        """Row groups of which every column that is wanted was read."""
        return self.row_groups - self.outside_bounds - self.outside_blooms - self.without_match
