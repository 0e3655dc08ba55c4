"""Base files: one row of each key, sorted inside a node."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arctic.errors import InternalError, InvalidInputError
from arctic.table.filename import parse_base_name
from arctic.table.files import FileKind
from arctic.tree.key_hash import hash_key
from arctic.writing.write_request import WriteMode, WriteRequest
from tests.factories.tables import field
from tests.writing.local_table import (
    SCHEMA,
    Row,
    base_rows,
    batch,
    begin,
    make_target,
    read,
    write,
)

ORDERED = pa.schema([*(column.with_nullable(True) for column in SCHEMA), ("seq", pa.int64())])


def rows_of(*keys: int) -> list[Row]:
    """Return one row for each key; the amount is its number."""
    return [
        {"id": key, "region": "eu" if key % 2 else None, "amount": number, "note": str(number)}
        for number, key in enumerate(keys)
    ]


def as_batches(rows: list[Row], random: Random) -> list[pa.RecordBatch]:
    """Cut rows into batches of any size."""
    cuts = sorted(random.randint(0, len(rows)) for _ in range(random.randint(0, 3)))
    return [
        pa.RecordBatch.from_pylist(rows[start:end], schema=ORDERED)
        for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)
    ]


@settings(max_examples=150)
@given(
    drawn=st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["eu", "us"]))),
    partition_by=st.sampled_from([(), ("region",)]),
    sorted_input=st.booleans(),
    ordered=st.booleans(),
    mask=st.sampled_from([0, 3]),
    chunk_rows=st.integers(1, 4),
    buffer_bytes=st.sampled_from([1, 300, 2**28]),
    random=st.randoms(use_true_random=False),
)
def test_the_last_row_of_each_key_is_kept_once(
    drawn: list[tuple[int, str]],
    partition_by: tuple[str, ...],
    sorted_input: bool,
    ordered: bool,
    mask: int,
    chunk_rows: int,
    buffer_bytes: int,
    random: Random,
) -> None:
    """Sorted or not, held or not, also where the rows of a key name different partitions."""
    rows: list[Row] = [
        {"id": key, "region": region, "amount": number, "note": None, "seq": number}
        for number, (key, region) in enumerate(drawn)
    ]
    model = {row["id"]: row for row in rows}
    if sorted_input:
        rows.sort(key=lambda row: row["id"])
    elif ordered:
        random.shuffle(rows)
    with tempfile.TemporaryDirectory() as folder:
        target = make_target(
            Path(folder),
            partition_by=partition_by,
            base_mask=mask,
            chunk_rows=chunk_rows,
            buffer_bytes=buffer_bytes,
        )
        request: dict[str, Any] = {"ordering_column": "seq"} if ordered else {}
        result = write(
            target,
            as_batches(rows, random),
            mode="overwrite",
            sorted_input=sorted_input,
            transaction_id=9,
            **request,
            ignored_columns=() if ordered else ("seq",),
        )

        assert {row["id"]: row["amount"] for row in base_rows(result)} == {
            key: row["amount"] for key, row in model.items()
        }
        assert result.inserts == len(base_rows(result)) == len(model)
        for file in result.files:
            found = read(file)
            ids = [row["id"] for row in found]
            assert ids == sorted(set(ids)), "rows are sorted by key"
            assert {hash_key([key], ["long"]) & mask for key in ids} == {file.node.index}
            assert parse_base_name(file.path).transaction_id == 9
            if partition_by:
                assert {(row["region"],) for row in found} == {file.partition}


@pytest.mark.parametrize("regions", [2, 300])
@pytest.mark.parametrize("in_order", [False, True])
def test_rows_beyond_the_room_make_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, regions: int, in_order: bool
) -> None:
    """One for each place, however many there are, with the rows that it has when all are held."""
    spilled = tmp_path / "spilled"
    spilled.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spilled))
    keys = np.arange(3_000)
    if not in_order:
        # A third of the keys come again, later.
        keys = np.random.default_rng(1).permutation(np.concatenate([keys, keys[::3]]))
    rows: list[Row] = [
        {"id": key, "region": f"{key % regions:03}", "amount": number, "note": "x" * 20}
        for number, key in enumerate(keys.tolist())
    ]
    batches = [batch(rows[start : start + 250]) for start in range(0, len(rows), 250)]
    files: dict[str, Any] = {}
    for name, buffer_bytes in (("held", 2**28), ("merged", 2**16)):
        target = make_target(
            tmp_path / name,
            key=("id", "region"),
            partition_by=["region"],
            base_mask=1,
            buffer_bytes=buffer_bytes,
        )
        result = write(target, batches, mode="overwrite")
        places: dict[Any, list[Row]] = {}
        for file in result.files:
            places.setdefault((file.partition, file.node), []).extend(read(file))
        files[name] = places
        # Those that are written while one range of keys ends may have two, if there are many.
        assert len(result.files) <= len(places) + (8 if len(places) > 256 else 0)
        assert (result.rows_in, result.inserts) == (len(rows), 3_000)

    assert files["merged"] == files["held"]
    assert list(spilled.iterdir()) == []


def test_what_waits_on_disk_goes_with_the_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that is given up leaves neither runs nor files."""
    spilled = tmp_path / "spilled"
    spilled.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spilled))
    rows = batch(rows_of(3, 1, 2))
    writer = begin(
        make_target(tmp_path / "table", buffer_bytes=1),
        rows.schema,
        WriteRequest(mode=WriteMode.OVERWRITE),
    )
    writer.write(rows)
    assert list(spilled.rglob("*.arrow"))

    writer.abort()

    assert list(spilled.iterdir()) == []
    assert not list((tmp_path / "table").rglob("*.parquet"))


@pytest.mark.parametrize("floats", [False, True])
def test_rows_wait_on_disk_only_where_that_finds_equal_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, floats: bool
) -> None:
    """To a sort the keys 0.0 and -0.0 are equal: these are held, and both stay."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kind = pa.float64() if floats else pa.int64()
    schema = pa.schema([field("x", kind, 1, nullable=False)])
    target = make_target(tmp_path / "t", schema=schema, key=("x",), base_mask=0, buffer_bytes=1)
    writer = begin(target, schema, WriteRequest(mode=WriteMode.OVERWRITE))
    for values in ([0, 1], [-0.0 if floats else 2, 1]):
        writer.write(pa.record_batch([pa.array(values, kind)], schema=schema))
    waits = bool(list(tmp_path.rglob("*.arrow")))

    found = [repr(row["x"]) for row in base_rows(writer.close())]

    assert waits == (not floats)
    assert sorted(found) == (["-0.0", "0.0", "1.0"] if floats else ["0", "1", "2"])


def test_keys_are_sorted_column_by_column(tmp_path: Path) -> None:
    """The key order decides, not the column order."""
    target = make_target(tmp_path, key=("region", "id"), base_mask=0)
    rows = [
        {"id": number, "region": region, "amount": 0, "note": None}
        for number in (2, 1)
        for region in ("us", "eu")
    ]

    found = base_rows(write(target, [batch(rows)], mode="overwrite"))

    assert [(row["region"], row["id"]) for row in found] == [
        ("eu", 1), ("eu", 2), ("us", 1), ("us", 2),
    ]  # fmt: skip


def test_nan_is_the_greatest_key(tmp_path: Path) -> None:
    """As Spark sorts; a stream that is sorted so is accepted as sorted."""
    schema = pa.schema([field("x", pa.float64(), 1, nullable=False)])
    target = make_target(tmp_path, schema=schema, key=("x",), base_mask=0)
    nan = float("nan")
    rows = [{"x": value} for value in (-1.0, 0.5, nan, nan)]

    result = write(target, [batch(rows, schema)], mode="overwrite", sorted_input=True)

    assert [repr(row["x"]) for row in base_rows(result)] == ["-1.0", "0.5", "nan"]


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
def test_a_false_claim_of_sorted_keys_is_refused(tmp_path: Path, chunk_rows: int) -> None:
    """Otherwise the key 1 would be written twice."""
    target = make_target(tmp_path, base_mask=0, chunk_rows=chunk_rows)

    with pytest.raises(InternalError, match="announced as sorted by id"):
        write(target, [batch(rows_of(1, 2, 1))], mode="overwrite", sorted_input=True)


def test_a_key_that_comes_back_is_refused(tmp_path: Path) -> None:
    """The rows between are of another node, where they break no order."""
    target = make_target(tmp_path, base_mask=1)

    with pytest.raises(InternalError, match="a key could be written twice"):
        write(target, [batch(rows_of(1, 2, 1))], mode="overwrite", sorted_input=True)


def test_a_false_claim_is_seen_across_partitions(tmp_path: Path) -> None:
    """A key in two partitions is still doubled."""
    target = make_target(tmp_path, partition_by=["region"], base_mask=0)
    rows = rows_of(1, 2, 1)
    rows[2]["region"] = "us"

    with pytest.raises(InternalError, match="written twice"):
        write(target, [batch(rows)], mode="overwrite", sorted_input=True)


def test_a_false_claim_of_sorted_events_is_refused(tmp_path: Path) -> None:
    """Otherwise an older event would win."""
    target = make_target(tmp_path)
    rows = [{**row, "seq": 5 - number} for number, row in enumerate(rows_of(1, 1))]
    given_batch = pa.RecordBatch.from_pylist(rows, schema=ORDERED)

    with pytest.raises(InternalError, match="sorted by seq inside a key"):
        write(target, [given_batch], mode="overwrite", ordering_column="seq", sorted_input=True)


def test_a_table_without_a_key_keeps_every_row_in_the_root(tmp_path: Path) -> None:
    """Rows are only told apart by partition; append and overwrite are written alike."""
    target = make_target(tmp_path, key=(), partition_by=["region"])
    rows = rows_of(1, 1, 2)

    for mode in ("append", "overwrite"):
        result = write(target, [batch(rows)], mode=mode)

        assert sorted(base_rows(result), key=lambda row: row["amount"]) == rows
        assert {(file.kind, file.node.node_id) for file in result.files} == {(FileKind.BASE, 1)}
        assert {file.partition for file in result.files} == {("eu",), (None,)}
        assert "/base/data/region=" in result.files[0].path


@pytest.mark.parametrize("sorted_input", [True, False])
def test_an_overwrite_with_nothing_leaves_no_file(tmp_path: Path, sorted_input: bool) -> None:
    """An empty frame empties the table; that takes no file."""
    target = make_target(tmp_path)

    result = write(target, [batch([])], mode="overwrite", sorted_input=sorted_input)

    assert (result.files, result.rows_in, result.inserts) == ((), 0, 0)
    assert not list(tmp_path.iterdir())


def test_a_null_in_the_ordering_column_is_refused(tmp_path: Path) -> None:
    """A null has no place among the events, sorted claim or not."""
    target = make_target(tmp_path)
    rows = [{**row, "seq": None} for row in rows_of(7)]
    given_batch = pa.RecordBatch.from_pylist(rows, schema=ORDERED)

    for sorted_input in (True, False):
        with pytest.raises(InvalidInputError, match=r"'seq' is null in the row with key \(id=7\)"):
            write(
                target,
                [given_batch],
                mode="overwrite",
                ordering_column="seq",
                sorted_input=sorted_input,
            )


@pytest.mark.parametrize(
    ("count", "note", "options", "masks"),
    [
        (99, "", {"few_rows": 50, "grows": True}, {0}),
        (100, "", {"few_rows": 50, "grows": True}, {1}),
        (99, "", {"few_rows": 50, "grows": False}, {3}),
        (99, "", {"few_rows": 0, "grows": True}, {3}),
        (99, "x" * 200_000, {"few_rows": 50, "grows": True}, {3}),
        (99, "", {"few_rows": 50, "grows": True, "chunk_rows": 20}, {0}),
    ],
)
def test_few_rows_go_to_fewer_nodes(
    tmp_path: Path, count: int, note: str, options: dict[str, Any], masks: set[int]
) -> None:
    """Not those of a table that states how many it has, nor such as take very many bytes."""
    rows = [{**row, "note": note} for row in rows_of(*range(count))]
    target = make_target(tmp_path, base_mask=3, **options)

    result = write(target, [batch(rows)], mode="overwrite")

    assert {file.node.mask for file in result.files} == masks
    assert sorted(row["id"] for row in base_rows(result)) == list(range(count))
