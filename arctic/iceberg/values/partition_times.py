"""When the partitions of a table without a primary key were optimized: a property of the table.

Such a table has no optimized sequence to keep the times with. A table property lasts through
everything that others do to snapshots, and every commit repeats it, so it is kept short: where
there are too many partitions, those go that were not optimized for longest. They then count as
never optimized, which makes an interval fire earlier, never later.

The property is a list of ``[[<value>, ...], <any>, <full>]``, values as the texts of their internal
form or null, times in milliseconds, that of a full or null; the youngest first.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from arctic.errors import FormatError
from arctic.table.files import Partition
from arctic.table.property_names import FULL_OPTIMIZED_TIME, OPTIMIZED_TIME, PARTITION_TIMES

MOST_BYTES = 200_000
"""Of the property: each append writes it again."""

_Key = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTimes:
    """Milliseconds since 1970-01-01 UTC."""

    by_partition: Mapping[_Key, tuple[int, int | None]] = field(default_factory=dict)
    """Of any run, and of a full."""
    others: tuple[int | None, int | None] = (None, None)
    """The same for partitions that are not named."""

    @classmethod
    def of(cls, properties: Mapping[str, str], *, table_name: str) -> PartitionTimes:
        """Read what table properties say.

        Raises:
            FormatError: a property that does not hold what it should.
        """
        text = properties.get(PARTITION_TIMES, "[]")
        try:
            by_partition = {
                tuple(None if each is None else str(each) for each in values): (
                    int(any_ms),
                    None if full_ms is None else int(full_ms),
                )
                for values, any_ms, full_ms in json.loads(text)
            }
        except (ValueError, TypeError) as error:
            raise FormatError(
                f"table {table_name!r}: property {PARTITION_TIMES} is not readable: {error}"
            ) from error
        others = tuple(
            _milliseconds(properties, name, table_name)
            for name in (OPTIMIZED_TIME, FULL_OPTIMIZED_TIME)
        )
        return cls(by_partition=by_partition, others=(others[0], others[1]))

    def times(self, partition: Partition) -> tuple[int | None, int | None]:
        """Return when a partition was optimized by any type, and by a full; None: never."""
        return self.by_partition.get(_key(partition), self.others)

    def rewritten(
        self, partitions: Collection[Partition], full: Collection[Partition], time_ms: int
    ) -> PartitionTimes:
        """Return the times after some partitions were optimized, and some of them in full."""
        in_full = set(full)
        now = {
            _key(each): (time_ms, time_ms if each in in_full else self.times(each)[1])
            for each in partitions
        }
        return PartitionTimes(by_partition={**self.by_partition, **now}, others=self.others)

    def text(self) -> str:
        """Return the property."""
        youngest = sorted(self.by_partition.items(), key=lambda item: (-item[1][0], str(item[0])))
        entries, size = [], 2
        for values, (any_ms, full_ms) in youngest:
            entry = json.dumps([values, any_ms, full_ms], separators=(",", ":"))
            size += len(entry) + 1
            if size > MOST_BYTES:
                break
            entries.append(entry)
        return f"[{','.join(entries)}]"


def _key(partition: Partition) -> _Key:
    return tuple(None if value is None else str(value) for value in partition)


def _milliseconds(properties: Mapping[str, str], name: str, table_name: str) -> int | None:
    text = properties.get(name)
    if text is None:
        return None
    if not text.isdecimal():
        raise FormatError(
            f"table {table_name!r}: property {name} = {text!r}; expected milliseconds"
        )
    return int(text)
