"""The times of runs that a table without a primary key remembers."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.errors import FormatError
from arctic.iceberg.values.partition_times import MOST_BYTES, PartitionTimes
from arctic.table.files import Partition
from arctic.table.property_names import FULL_OPTIMIZED_TIME, OPTIMIZED_TIME, PARTITION_TIMES

NAME = "of-forty-characters-that-take-their-room"
VALUES = st.none() | st.text(max_size=5) | st.sampled_from(["null", '"', "a/b=c"])
PARTITIONS: st.SearchStrategy[Partition] = st.tuples(VALUES, st.none() | st.integers())


def again(times: PartitionTimes) -> PartitionTimes:
    """Write and read."""
    return PartitionTimes.of({PARTITION_TIMES: times.text()}, table_name="t")


@given(st.lists(st.tuples(PARTITIONS, st.booleans(), st.integers(0, 2**45)), max_size=8))
def test_each_partition_has_the_times_of_its_last_runs(
    runs: list[tuple[Partition, bool, int]],
) -> None:
    """Also after they were written and read; a partition that spells null is not the null one."""
    times = PartitionTimes()
    expected: dict[Partition, tuple[int, int | None]] = {}
    for partition, is_full, now_ms in runs:
        times = again(times.rewritten([partition], [partition] if is_full else [], now_ms))
        last_full = expected.get(partition, (0, None))[1]
        expected[partition] = (now_ms, now_ms if is_full else last_full)

    assert {each: times.times(each) for each, _, _ in runs} == expected
    assert times.times(("of", "another", "table")) == (None, None)


def test_every_type_of_value_is_found_again() -> None:
    """Values of partitions are compared as texts of their internal form."""
    partition: Partition = (Decimal("1.50"), b"\xff", True, 2**40, "x", None)

    assert again(PartitionTimes().rewritten([partition], [], 7)).times(partition) == (7, None)


def test_beyond_a_size_the_oldest_go() -> None:
    """They count as never optimized, which starves nothing."""
    times = PartitionTimes()
    for number in range(6):
        block: list[Partition] = [(f"{NAME}-{number}-{each}",) for each in range(1_000)]
        times = again(times.rewritten(block, [], number))

    assert len(times.text()) <= MOST_BYTES
    assert times.times((f"{NAME}-5-0",)) == (5, None)
    assert times.times((f"{NAME}-0-0",)) == (None, None)


def test_the_time_that_earlier_versions_kept_holds_for_the_rest() -> None:
    """A table that was optimized before is not taken for one that never was."""
    old = {OPTIMIZED_TIME: "5", FULL_OPTIMIZED_TIME: "3"}
    times = PartitionTimes.of(old, table_name="t").rewritten([("a",)], [], 9)

    assert times.times(("a",)) == (9, 3)
    assert times.times(("b",)) == (5, 3)


@pytest.mark.parametrize(
    "properties",
    [
        {PARTITION_TIMES: "{"},
        {PARTITION_TIMES: "[1]"},
        {PARTITION_TIMES: '[[["a"],"x",null]]'},
        {OPTIMIZED_TIME: "soon"},
    ],
)
def test_what_is_no_time_is_named(properties: dict[str, str]) -> None:
    """With the property."""
    with pytest.raises(FormatError, match=next(iter(properties))):
        PartitionTimes.of(properties, table_name="t")
