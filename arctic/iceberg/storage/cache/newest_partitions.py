"""Which partitions are new enough for a cache: those whose time began within its greatest age.

Rules:
    - A partition that tells no time is kept: the bound of bytes holds for it too.
    - The moment is taken in whole hours at the finest, so that what two reads of one hour ask of
      files is the same, and what the first has found out of them serves the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from arctic.table.files import Partition, Value
from arctic.table.table_description import TableDescription

_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestPartitions:
    """Partitions by one of their fields."""

    place: int
    """Of the field in the partition."""
    least: Value
    """The field's least value that is new, inclusive."""

    @classmethod
    def of(cls, table: TableDescription, since_ms: int) -> NewestPartitions | None:
        """Return the partitions since a moment, by the first field that tells a time; None: none.

        Args:
            table: with its partition fields.
            since_ms: milliseconds since 1970-01-01 UTC.
        """
        types = {column.field_id: column.type for column in table.columns}
        for place, field in enumerate(table.partition_fields):
            least = _least(field.transform, types.get(field.source_id, ""), since_ms)
            if least is not None:
                return cls(place=place, least=least)
        return None

    def holds(self, partition: Partition) -> bool:
        """Say whether a partition is new, or tells no time."""
        value = partition[self.place] if self.place < len(partition) else None
        if isinstance(value, str) and isinstance(self.least, str):
            return value >= self.least
        if isinstance(value, int) and isinstance(self.least, int):
            return value >= self.least
        return True


def _least(transform: str, column_type: str, since_ms: int) -> Value:
    moment = datetime.fromtimestamp(since_ms / 1000, tz=timezone.utc)
    hours = since_ms // _HOUR_MS
    months = (moment.year - 1970) * 12 + moment.month - 1
    by_transform = {
        "year": moment.year - 1970,
        "month": months,
        "day": since_ms // _DAY_MS,
        "hour": hours,
    }
    if transform in by_transform:
        return by_transform[transform]
    if transform != "identity":
        return None
    by_type: dict[str, int | str] = {
        "date": since_ms // _DAY_MS,
        "timestamp": hours * _HOUR_MS * 1000,
        "timestamptz": hours * _HOUR_MS * 1000,
        # As ISO 8601 writes a day, alone or before an hour.
        "string": moment.strftime("%Y-%m-%d"),
    }
    return by_type.get(column_type)
