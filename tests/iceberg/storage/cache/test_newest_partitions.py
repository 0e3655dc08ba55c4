"""Which partitions are new, by whatever tells their time."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pytest

from arctic.iceberg.storage.cache.newest_partitions import NewestPartitions
from arctic.table.table_description import Column, PartitionField, TableDescription

SINCE = datetime(2026, 11, 20, 5, tzinfo=timezone.utc)
DAY = (SINCE.date() - date(1970, 1, 1)).days


def table(column_type: str, *transforms: str) -> TableDescription:
    """Return a table with partition fields of one column."""
    fields = tuple(
        PartitionField(source_id=1, name=f"p{number}", transform=transform)
        for number, transform in enumerate(transforms)
    )
    return described(column_type, fields)


def described(column_type: str, fields: tuple[PartitionField, ...]) -> TableDescription:
    """Return the table."""
    column = Column(field_id=1, name="at", type=column_type, required=False)
    return TableDescription(
        identifier=("shop", "t"),
        columns=(column,),
        primary_key=(),
        partition_fields=fields,
        properties={},
        base_location="",
        change_location=None,
    )


@pytest.mark.parametrize(
    ("column_type", "transform", "old", "new"),
    [
        ("timestamp", "year", 55, 56),
        ("timestamp", "month", 56 * 12 + 9, 56 * 12 + 10),
        ("timestamp", "day", DAY - 1, DAY),
        ("timestamptz", "hour", DAY * 24 + 4, DAY * 24 + 5),
        ("date", "identity", DAY - 1, DAY),
        ("timestamp", "identity", DAY * 86_400_000_000, DAY * 86_400_000_000 + 18_000_000_000),
        ("string", "identity", "2026-11-19", "2026-11-20"),
        ("string", "identity", "2026-11-19 23", "2026-11-20 00"),
    ],
)
def test_a_partition_is_new_from_its_time_on(
    column_type: str, transform: str, old: Any, new: Any
) -> None:
    """The unit that the moment lies in is new; a partition that tells no time is."""
    newest = NewestPartitions.of(
        table(column_type, "bucket[4]", transform), int(SINCE.timestamp() * 1000)
    )

    assert newest is not None
    assert [newest.holds((3, value)) for value in (old, new, None)] == [False, True, True]


@pytest.mark.parametrize("transform", ["bucket[4]", "truncate[3]", "identity"])
def test_what_tells_no_time_makes_nothing_old(transform: str) -> None:
    """The bound of bytes holds all the same."""
    assert NewestPartitions.of(table("long", transform), 0) is None
    assert NewestPartitions.of(described("long", ()), 0) is None


@pytest.mark.parametrize("column_type", ["timestamp", "timestamptz", "date", "string"])
@pytest.mark.parametrize("transform", ["identity", "day", "hour"])
def test_partitions_are_new_in_the_same_way_for_an_hour(column_type: str, transform: str) -> None:
    """By it what a read has found out is looked up by the next."""
    began = int(SINCE.timestamp() * 1000)
    of_hour = [
        NewestPartitions.of(table(column_type, transform), began + later)
        for later in (0, 1, 3_599_999)
    ]

    assert of_hour == of_hour[:1] * 3
