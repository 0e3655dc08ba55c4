"""Rows on their way to partitions and nodes."""

from __future__ import annotations

import datetime as dt
import functools
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.writing.route import (
    Partitions,
    Places,
    base_deepened,
    base_places,
    change_places,
    deepened,
    find_partitions,
    group_rows,
    hash_keys,
    join_partitions,
)
from tests.writing.local_table import make_target

numbers = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 7)), max_size=30)


@given(numbers)
def test_every_row_is_in_the_group_of_its_place(drawn: list[tuple[int, int]]) -> None:
    """Groups hold each row once, in order, partitions before nodes."""
    places = Places(
        partitions=Partitions(
            values=(("a",), (None,), ("c",), (1,)),
            codes=np.array([code for code, _ in drawn], dtype=np.int64),
        ),
        node_ids=np.array([8 + index for _, index in drawn], dtype=np.int64),
    )

    groups = group_rows(places)

    found = {
        int(row): (group.partition, group.node.index) for group in groups for row in group.rows
    }
    assert found == {
        row: (places.partitions.values[code], index) for row, (code, index) in enumerate(drawn)
    }
    assert sum(len(group.rows) for group in groups) == len(drawn)
    assert all((np.diff(group.rows) > 0).all() and group.node.mask == 7 for group in groups)
    order = [(places.partitions.values.index(g.partition), g.node.index) for g in groups]
    assert order == sorted(set(order))


def test_many_nodes_are_grouped_too() -> None:
    """More destinations than sixteen bits can number."""
    mask = 2**20 - 1
    indices = np.array([mask, 3, mask, 0])
    everywhere = Partitions(values=((),), codes=np.zeros(4, dtype=np.int64))

    groups = group_rows(Places(partitions=everywhere, node_ids=mask + 1 + indices))

    assert [(g.node.index, g.rows.tolist()) for g in groups] == [(0, [3]), (3, [1]), (mask, [0, 2])]


@pytest.mark.parametrize(
    ("rows", "is_all", "nodes"),
    [
        (10, True, [4, 5, 6, 7]),
        (8 * 16_384 - 1, True, [4, 5, 6, 7]),
        (8 * 16_384, True, [8, 9, 10, 11, 12, 13, 14, 15]),
        (10**9, True, [8, 9, 11, 12, 13, 15, 18, 22, 26, 30]),
        (10, False, [8, 9, 11, 12, 13, 15, 18, 22, 26, 30]),
    ],
)
def test_many_changes_go_to_the_leaves_of_the_tree(
    tmp_path: Path, rows: int, is_all: bool, nodes: list[int]
) -> None:
    """As many nodes as they are worth, and never fewer than the table has anyway."""
    target = make_target(tmp_path, trees={"": "8:10,14"})
    hashes = np.arange(64)
    everywhere = Partitions(values=((),), codes=np.zeros(64, dtype=np.int64))

    places = change_places(everywhere, hashes, deepened(target, rows, is_all=is_all))

    assert sorted(set(places.node_ids.tolist())) == nodes


@pytest.mark.parametrize(
    ("rows", "is_all", "nodes"),
    [
        (8 * 65_536 - 1, True, [4, 5, 6, 7]),
        (10**9, True, [8, 9, 11, 12, 13, 15, 18, 22, 26, 30]),
        (10, False, [8, 9, 11, 12, 13, 15, 18, 22, 26, 30]),
    ],
)
def test_rows_of_base_go_to_the_leaves_that_they_fill(
    tmp_path: Path, rows: int, is_all: bool, nodes: list[int]
) -> None:
    """A few rows take the place of all: in files of the least tree, not in one for each leaf."""
    target = make_target(tmp_path, trees={"": "8:10,14"})
    everywhere = Partitions(values=((),), codes=np.zeros(64, dtype=np.int64))

    places = base_places(everywhere, np.arange(64), base_deepened(target, rows, is_all=is_all))

    assert sorted(set(places.node_ids.tolist())) == nodes


@functools.cache
def many_values(count: int) -> tuple[tuple[int], ...]:
    """Return so many partitions, made once: there are hundreds of thousands."""
    return tuple((number,) for number in range(count))


@given(
    codes=st.lists(st.integers(0, 4), min_size=1, max_size=30),
    mask=st.sampled_from([0, 1, 7]),
    random=st.randoms(use_true_random=False),
)
def test_few_and_many_groups_are_found_alike(codes: list[int], mask: int, random: Random) -> None:
    """Looking for each, sorting, and sorting by more than sixteen bits."""
    nodes = np.array([random.randint(0, mask) for _ in codes], dtype=np.int64)
    for spread in (1, 40, 70_000):
        partitions = Partitions(
            values=many_values(5 * spread), codes=np.array(codes, dtype=np.int64) * spread
        )

        groups = group_rows(Places(partitions=partitions, node_ids=mask + 1 + nodes))

        expected = sorted(
            {(code * spread, node) for code, node in zip(codes, nodes.tolist(), strict=True)}
        )
        assert [(g.partition[0], g.node.index) for g in groups] == expected
        for group in groups:
            assert group.rows.tolist() == [
                row
                for row, (code, node) in enumerate(zip(codes, nodes.tolist(), strict=True))
                if (code * spread, node) == (group.partition[0], group.node.index)
            ]


@pytest.mark.parametrize(
    ("values", "data_type", "expected"),
    [
        (["b", None, "b"], pa.string(), ["b", None, "b"]),
        ([dt.date(1970, 1, 3), None], pa.date32(), [2, None]),
        ([dt.datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("us"), [1_000_000]),  # noqa: DTZ001
        ([dt.datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("us", "UTC"), [1_000_000]),  # noqa: DTZ001
        ([dt.time(0, 0, 2)], pa.time64("us"), [2_000_000]),
        ([Decimal("1.50")], pa.decimal128(5, 2), [Decimal("1.50")]),
        ([b"\x00", b""], pa.binary(), [b"\x00", b""]),
        ([True, False], pa.bool_(), [True, False]),
        ([1, -1, 1], pa.int32(), [1, -1, 1]),
    ],
    ids=str,
)
def test_partition_values_are_in_internal_form(
    tmp_path: Path, values: list[Any], data_type: pa.DataType, expected: list[Any]
) -> None:
    """Days and microseconds as numbers, whatever a transform hands out."""
    target = replace(
        make_target(tmp_path, partition_by=["region"]),
        partition_arrays=lambda rows: [pa.array(values, data_type)],
    )

    partitions = find_partitions(pa.table({"region": ["x"] * len(values)}), target)

    assert [partitions.values[code] for code in partitions.codes] == [(v,) for v in expected]
    assert len(set(partitions.values)) == len(partitions.values)


@given(
    st.lists(st.tuples(st.sampled_from(["a", None, "b"]), st.integers(0, 3), st.booleans())),
    st.integers(1, 4),
)
def test_partitions_of_several_fields_are_told_apart(
    rows: list[tuple[str | None, int, bool]], chunk: int
) -> None:
    """Any number of fields, however the table is chunked."""
    schema = pa.schema([("id", pa.int64()), ("region", pa.string()), ("amount", pa.bool_())])
    target = make_target(Path("x"), partition_by=["region", "id", "amount"])
    records = [{"region": r, "id": i, "amount": b} for r, i, b in rows]
    batches = [
        pa.RecordBatch.from_pylist(records[start : start + chunk], schema=schema)
        for start in range(0, len(records), chunk)
    ]

    partitions = find_partitions(pa.Table.from_batches(batches, schema), target)

    assert [partitions.values[code] for code in partitions.codes] == rows
    assert len(set(partitions.values)) == len(partitions.values)


def test_partitions_of_tables_are_joined_by_value() -> None:
    """The same partition has the same number, whichever table names it."""
    some = Partitions(values=(("a",), ("b",)), codes=np.array([1, 0, 1]))
    more = Partitions(values=(("c",), ("b",)), codes=np.array([0, 1]))

    joined = join_partitions([some, more])

    assert [joined.values[code] for code in joined.codes] == [
        ("b",),
        ("a",),
        ("b",),
        ("c",),
        ("b",),
    ]
    assert len(joined.values) == 3
    assert join_partitions([]).values == ()


def test_a_table_without_partitions_or_key_has_one_place(tmp_path: Path) -> None:
    """The empty tuple, and no hash."""
    rows = pa.table({"id": pa.array([1, 2])})
    target = make_target(tmp_path, key=())

    assert find_partitions(rows, target).values == ((),)
    assert hash_keys(rows, target).tolist() == [0, 0]
