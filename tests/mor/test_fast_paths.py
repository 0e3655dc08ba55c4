"""What skips work, beside what does all of it: the rows are the same."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.columns.integers import integer_index
from arctic.mor import data_file_reader
from arctic.mor.batch import kept
from arctic.mor.data_file_reader import DataFileReader
from arctic.mor.deletes import matched_deletes
from arctic.mor.deletes.row_weights import row_weights
from arctic.mor.files import parquet_input
from arctic.mor.files.file_columns import names_of
from arctic.mor.files.parquet_input import ParquetInput
from arctic.mor.filters.key_span import KeySpan, has_span
from arctic.mor.read import read_group
from arctic.mor.request import FILE_OFFSET_FIELD, ReadRequest
from arctic.mor.touched import Touched
from arctic.scan.task import FileTask, NodeTaskGroup
from arctic.table.files import ColumnBounds, FileKind
from arctic.table.filters.predicate import ColumnTest, Op, Predicate
from tests.factories.tables import field
from tests.mor.local_files import ID, TABLE, LocalFiles, group, request, task

UTC = timezone.utc

KEYS: dict[str, tuple[list[pa.DataType], st.SearchStrategy[Any]]] = {
    "integer": ([pa.int64()], st.tuples(st.integers(-5, 40))),
    "huge": ([pa.int64()], st.tuples(st.sampled_from([-(2**63), -1, 0, 7, 2**63 - 1]))),
    "text": (
        [pa.string()],
        st.tuples(st.sampled_from(["", "order", "order-1", "order-10", "order-2é", "order-2\0"])),
    ),
    "bytes": ([pa.binary()], st.tuples(st.binary(max_size=10))),
    "float": (
        [pa.float64()],
        st.tuples(st.sampled_from([0.0, -0.0, math.nan, 1.5, -math.inf, math.inf])),
    ),
    "date": ([pa.date32()], st.tuples(st.dates(date(1960, 1, 1), date(1980, 1, 1)))),
    "instant": (
        [pa.timestamp("us", "UTC")],
        st.tuples(st.integers(-3, 3).map(lambda at: datetime(1970, 1, 4 + at, tzinfo=UTC))),
    ),
    "decimal": ([pa.decimal128(9, 2)], st.tuples(st.integers(0, 9).map(Decimal))),
    "two": ([pa.string(), pa.int64()], st.tuples(st.sampled_from("abc"), st.integers(0, 9))),
    "null": (
        [pa.int64(), pa.string()],
        st.tuples(st.none() | st.integers(0, 5), st.none() | st.sampled_from(["", "x"])),
    ),
}


@pytest.fixture(autouse=True)
def small_files_in_two_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat the small files here as large ones, whose texts repeat."""
    monkeypatch.setattr(data_file_reader, "MIN_ROWS", 0)
    monkeypatch.setattr(parquet_input, "REPEATING_BYTES", 1_000)


def read_everything(
    self: DataFileReader, row_groups: Collection[int], output: Any, sieve: Any
) -> Iterator[tuple[int, pa.RecordBatch, np.ndarray]]:
    """Stand for ``DataFileReader._read``: every column of every row group, every key looked up."""
    names = names_of(output, sieve.merge, sieve.test.projection)
    for first_row, batch in self._batches(row_groups, names):
        mask = sieve.mask(first_row, batch)
        if sieve.index is not None:
            mask[self._dead_rows(batch, sieve.merge, sieve.index)] = False
        yield first_row, batch, mask


def read_slowly(
    files: LocalFiles, tasks: NodeTaskGroup, wanted: ReadRequest
) -> list[dict[str, Any]]:
    """Read with every fast path closed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DataFileReader, "_read", read_everything)
        patch.setattr(DataFileReader, "_may_be_killed", lambda *_: True)
        patch.setattr(data_file_reader, "kept", lambda batch, mask: batch.filter(pa.array(mask)))
        patch.setattr(integer_index, "FEW_VALUES", 2**40)
        return files.read(tasks, wanted)


def plain(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return rows in a form in which NaN equals NaN and -0.0 differs from 0.0."""
    return [repr(row) for row in rows]


@given(st.data(), st.sampled_from(list(KEYS)))
def test_fast_reads_return_what_slow_ones_do(data: st.DataObject, key_name: str) -> None:
    """For keys of every kind, sorted or not, with or without statistics, whatever the filter."""
    kinds, key_values = KEYS[key_name]
    key = pa.schema([field(f"k{at}", kind, 10 + at) for at, kind in enumerate(kinds)])
    number = field("number", pa.int32(), 1)
    schema = pa.schema([number, *key, field("text", pa.string(), 2)])
    rows = st.tuples(
        st.none() | st.integers(0, 4), key_values, st.none() | st.sampled_from(["", "long " * 9])
    ).map(lambda row: dict(zip(schema.names, (row[0], *row[1], row[2]), strict=True)))
    changes = st.lists(st.tuples(rows, st.integers(0, 9)), max_size=12).map(
        lambda pairs: [row | {"_file_offset": offset} for row, offset in pairs]
    )
    size = data.draw(st.integers(1, 9), label="row group")
    more = {"row_group_size": size, "write_statistics": data.draw(st.booleans(), label="stats")}
    with tempfile.TemporaryDirectory() as folder:
        files = LocalFiles(Path(folder))
        drawn = data.draw(st.lists(rows, max_size=40), label="base")
        if data.draw(st.booleans(), label="sorted"):
            drawn.sort(key=lambda row: tuple(str(row[name]).rjust(5) for name in key.names))
        if data.draw(st.booleans(), label="numbers"):
            # The key column strictly ascends, as in a base file of integers.
            drawn = sorted(drawn, key=lambda row: repr(row[key.names[0]]).rjust(30))
        base = files.base(drawn, data.draw(st.integers(0, 3)), schema=schema, **more)
        gone = data.draw(st.frozensets(st.integers(0, 39), max_size=3), label="positions")
        positions = files.position_deletes([(base.path, at) for at in sorted(gone)])
        insert = files.insert(data.draw(changes), data.draw(st.integers(0, 3)), schema=schema)
        deletes = [
            files.deletes(data.draw(changes), data.draw(st.integers(0, 4)), schema=schema)
            for _ in range(2)
        ]
        wanted = ReadRequest(
            schema=pa.schema(
                data.draw(st.permutations(list(schema)))[: data.draw(st.integers(0, 4))]
            ),
            key=key,
            key_types=("any",) * len(key),
            row_filter=data.draw(st.sampled_from(filters(key_name)), label="filter"),
            max_delete_bytes=data.draw(st.sampled_from([1, 2**20])),
            batch_rows=data.draw(st.integers(1, 12)),
            verifies_pages=True,
            name_mapping=None,
        )
        tasks = group(
            task(FileTask(file=base, position_deletes=(positions,)), insert, deletes=deletes)
        )
        assert plain(files.read(tasks, wanted)) == plain(read_slowly(files, tasks, wanted))


def filters(key_name: str) -> list[Predicate | None]:
    """Return filters of the payload, and of a key of integers."""
    number = ColumnTest(op=Op.GE, field_id=1, column="number", literal=3)
    found: list[Predicate | None] = [None, None, number]
    if key_name == "integer":
        found += [
            ColumnTest(op=Op.EQ, field_id=10, column="k0", literal=7),
            ColumnTest(op=Op.LT, field_id=10, column="k0", literal=9),
        ]
    return found


def test_row_groups_without_a_deleted_key_are_not_merged(tmp_path: Path) -> None:
    """Only the one that a delete falls into is; a delete between two groups touches none."""
    files = LocalFiles(tmp_path)
    base = files.base([{"id": 10 * at} for at in range(100)], row_group_size=10)
    deletes = files.deletes([{"id": at, "_file_offset": 0} for at in (230, 295, 5000)], 1)
    touched = Touched()

    tasks = group(task(base, deletes=[deletes]))
    batches = read_group(tasks, request(), files.open, touched)

    assert sum(batch.num_rows for batch in batches) == 99
    assert (touched.merged, touched.passed, touched.read) == (1, 9, 10)
    assert (touched.delete_files, touched.delete_rows) == (1, 3)


def test_deletes_older_than_a_file_look_nothing_up(tmp_path: Path) -> None:
    """A base file of transaction 5 survives every delete up to it."""
    files = LocalFiles(tmp_path)
    base = files.base([{"id": 1}, {"id": 2}], 5)
    deletes = files.deletes([{"id": 1, "_file_offset": 9}], 5)
    touched = Touched()

    batches = list(read_group(group(task(base, deletes=[deletes])), request(), files.open, touched))

    assert sum(batch.num_rows for batch in batches) == 2
    assert (touched.merged, touched.passed) == (0, 1)


def test_row_groups_without_a_match_are_read_for_the_filter_only(tmp_path: Path) -> None:
    """Bounds of an unsorted column keep them; a look at that column leaves them out."""
    files = LocalFiles(tmp_path)
    rows = [{"id": at, "text": f"{at % 7}"} for at in range(70)]
    rows[33]["text"] = "35"
    base = files.base(rows, row_group_size=7)
    wanted = request(row_filter=ColumnTest(op=Op.EQ, field_id=2, column="text", literal="35"))
    touched = Touched()

    batches = list(read_group(group(task(base)), wanted, files.open, touched))

    assert pa.Table.from_batches(batches).to_pylist() == [{"id": 33, "text": "35"}]
    assert (touched.outside_bounds, touched.without_match, touched.read) == (0, 9, 1)


def test_a_key_that_is_dead_in_base_costs_no_payload(tmp_path: Path) -> None:
    """A lookup of a changed key reads the payload where the key lives."""
    files = LocalFiles(tmp_path)
    base = files.base([{"id": at, "text": "old"} for at in range(10)])
    insert = files.insert([{"id": 4, "text": "new", "_file_offset": 1}], 1)
    deletes = files.deletes([{"id": 4, "_file_offset": 0}], 1)
    wanted = request(row_filter=ColumnTest(op=Op.EQ, field_id=1, column="id", literal=4))
    touched = Touched()

    tasks = group(task(base, insert, deletes=[deletes]))
    batches = list(read_group(tasks, wanted, files.open, touched))

    assert pa.Table.from_batches(batches).to_pylist() == [{"id": 4, "text": "new"}]
    assert (touched.row_groups, touched.without_match, touched.read) == (2, 1, 1)


def internal(value: Any) -> Any:
    """Return Iceberg's internal form of a key, text as bytes."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1, tzinfo=UTC)).days * 86_400_000_000
    if isinstance(value, date):
        return (value - date(1970, 1, 1)).days
    return value


SPANS = ["integer", "huge", "text", "bytes", "date", "instant"]


@given(st.data(), st.sampled_from(SPANS))
def test_a_span_meets_every_range_with_a_value_in_it(data: st.DataObject, key_name: str) -> None:
    """Also ranges whose bounds were cut, as writers cut long texts."""
    (kind,), one = KEYS[key_name]
    values = data.draw(st.lists(st.none() | one.map(lambda pair: pair[0]), max_size=9))
    rows = data.draw(st.lists(one.map(lambda pair: internal(pair[0])), min_size=1, max_size=9))
    nulls = data.draw(st.sampled_from([0, 3, None]))
    lower, upper = min(rows), max(rows)
    if isinstance(lower, bytes):
        kept_bytes = data.draw(st.integers(0, 9))
        lower = lower[:kept_bytes]
        upper = upper[:kept_bytes] + b"\xff" if len(upper) > kept_bytes else upper
    column = pa.chunked_array([pa.array(values[:4], kind), pa.array(values[4:], kind)])
    found = KeySpan(column).meets(ColumnBounds(lower=lower, upper=upper, null_count=nulls))
    inside = any(value is not None and lower <= internal(value) <= upper for value in values)
    assert has_span(kind)
    assert found or not (inside or (None in values and nulls != 0))
    if key_name in ("integer", "huge", "date", "instant"):
        assert found == (inside or (None in values and nulls != 0))


def test_a_span_tells_texts_with_one_beginning_apart() -> None:
    """What all values begin with is skipped, so eight bytes say enough."""
    span = KeySpan(pa.chunked_array([[f"customer-2026-{at:06}" for at in range(0, 900, 300)]]))

    def meets(lower: str | None, upper: str | None) -> bool:
        bounds = ColumnBounds(
            lower=lower and lower.encode(), upper=upper and upper.encode(), null_count=0
        )
        return span.meets(bounds)

    assert meets("customer-2026-000300", "customer-2026-000300")
    assert not meets("customer-2026-000301", "customer-2026-000599")
    assert meets("a", "z")
    assert not meets("a", "b")
    assert not meets("d", "e")
    assert meets(None, "b")
    assert span.meets(None)


@pytest.mark.parametrize(
    "kind", [pa.float64(), pa.decimal128(9, 2), pa.binary(16), pa.timestamp("ns"), pa.uint32()]
)
def test_types_whose_bounds_are_not_trusted_have_no_span(kind: pa.DataType) -> None:
    """Every row group is merged then."""
    assert not has_span(kind)


@given(
    st.lists(st.tuples(st.none() | st.integers(0, 9), st.none() | st.text(max_size=3))),
    st.data(),
    st.sampled_from([1, 128, 2**40]),
)
def test_kept_rows_are_those_of_a_filter(
    pairs: list[tuple[int | None, str | None]], data: st.DataObject, few_dropped: int
) -> None:
    """For columns of one width, text, booleans, dictionaries and nested ones, or none."""
    numbers, texts = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    every = pa.RecordBatch.from_pydict(
        {
            "number": pa.array(numbers, pa.int64()),
            "small": pa.array(numbers, pa.int8()),
            "price": pa.array(numbers, pa.decimal128(9, 2)),
            "text": pa.array(texts, pa.string()),
            "truth": pa.array([None if n is None else n > 4 for n in numbers], pa.bool_()),
            "encoded": pa.array(texts, pa.string()).dictionary_encode(),
            "list": pa.array([None if n is None else [n] for n in numbers], pa.list_(pa.int8())),
            "struct": pa.array([{"n": n} for n in numbers], pa.struct([("n", pa.int8())])),
            "fixed": pa.array([b"123" if t else None for t in texts], pa.binary(3)),
            "nothing": pa.nulls(len(pairs)),
        }
    )
    start = data.draw(st.integers(0, len(pairs)))
    batch = every.slice(start)
    size = len(pairs) - start
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)), bool)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arctic.mor.batch.FEW_DROPPED", few_dropped)
        assert kept(batch, mask).equals(batch.filter(pa.array(mask, pa.bool_())))
        assert kept(batch.select([]), mask).num_rows == mask.sum()


def test_the_same_column_is_read_once_for_filter_and_output(tmp_path: Path) -> None:
    """A filter's columns come back beside the others, in the order that was asked for."""
    files = LocalFiles(tmp_path)
    base = files.base([{"id": at, "text": f"{at}"} for at in range(20)], row_group_size=5)
    deletes = files.write(
        FileKind.CHANGE_DELETE,
        [{"id": 12, "_file_offset": 0}],
        pa.schema([ID, FILE_OFFSET_FIELD]),
        transaction_id=1,
    )
    wanted = request(
        schema=pa.schema(list(reversed(TABLE))),
        row_filter=ColumnTest(op=Op.GE, field_id=1, column="id", literal=11),
        batch_rows=3,
    )
    rows = files.read(group(task(base, deletes=[deletes])), wanted)
    assert rows == [{"text": f"{at}", "id": at} for at in range(11, 20) if at != 12]


@pytest.mark.parametrize("least_rows", [0, 21])
def test_texts_of_few_values_are_decoded_after_dead_rows_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least_rows: int
) -> None:
    """But not where a file has few rows, or the filter looks into the texts."""
    encoded: list[list[str]] = []
    batches = ParquetInput.batches

    def watched(*given: Any, **asked: Any) -> Any:
        encoded.append(list(asked.get("encoded", ())))
        return batches(*given, **asked)

    monkeypatch.setattr(data_file_reader, "MIN_ROWS", least_rows)
    monkeypatch.setattr(ParquetInput, "batches", watched)
    files = LocalFiles(tmp_path)
    base = files.base([{"id": at, "text": f"{at % 2}"} for at in range(20)], row_group_size=5)
    deletes = files.deletes([{"id": 12, "_file_offset": 0}], 1)
    tasks = group(task(base, deletes=[deletes]))
    wanted = request()

    rows = files.read(tasks, wanted)
    assert rows == [{"id": at, "text": f"{at % 2}"} for at in range(20) if at != 12]
    assert ["text"] in encoded or least_rows > 20

    encoded.clear()
    is_odd = ColumnTest(op=Op.EQ, field_id=2, column="text", literal="1")
    found = files.read(tasks, replace(wanted, row_filter=is_odd))
    assert found == [{"id": at, "text": "1"} for at in range(1, 20, 2)]
    assert ["text"] not in encoded


@pytest.mark.parametrize(("stored", "looks"), [([1, 3, 4], False), ([1, 3, 9], True)])
def test_order_is_not_read_where_every_delete_outdoes_every_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: list[int], looks: bool
) -> None:
    """Bounds of the ordering column say so; with one row beyond, each row is compared."""
    looked: list[int] = []

    def watched(*given: Any, **asked: Any) -> Any:
        looked.append(asked["count"])
        return row_weights(*given, **asked)

    monkeypatch.setattr(matched_deletes, "row_weights", watched)
    files = LocalFiles(tmp_path)
    at = field("at", pa.int64(), 3)
    table = pa.schema([ID, at])
    base = files.base(
        [{"id": key, "at": place} for key, place in enumerate(stored)],
        schema=table,
        row_group_size=1,
    )
    deletes = files.deletes(
        [{"id": key, "at": 5 + key % 2, "_file_offset": key} for key in (1, 2)], 1, schema=table
    )
    wanted = replace(request(pa.schema([ID])), ordering=pa.schema([at]))

    found = files.read(group(task(base, deletes=[deletes])), wanted)

    assert [row["id"] for row in found] == ([0, 2] if looks else [0])
    assert bool(looked) is looks
