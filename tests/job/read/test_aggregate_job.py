"""Counts and extremes from metadata: what the rows say, or no answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.snapshots.list_files import list_files
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.job.read.aggregate_job import aggregate_metadata
from arctic.job.read.asked_read import AskedRead
from arctic.scan.aggregate import Aggregate, AggregateKind
from arctic.table.files import Value

NAME = "db.t"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("n", pa.int32()),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("price", pa.decimal128(10, 2)),
        pa.field("ratio", pa.float64()),
        pa.field("name", pa.string()),
        pa.field("nothing", pa.int64()),
    ]
)
AT = datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=timezone.utc)
ROWS = [
    (1, None, date(2024, 1, 1), AT, Decimal("-1.50"), 1.0, "a", None),
    (2, -7, date(1969, 12, 31), None, Decimal("2.25"), float("nan"), "b", None),
    (3, 9, None, None, None, None, None, None),
]
MICROSECONDS = 1714979289000010


def _table(tmp_path: Path, rows: Sequence[tuple[Any, ...]], **properties: str) -> arctic.Table:
    table = arctic.create_table(
        NAME, SCHEMA, primary_key=["id"], properties=properties, warehouse=str(tmp_path)
    )
    if rows:
        table.write(_arrow(rows), mode="overwrite")
    return table


def _arrow(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[]] * len(SCHEMA)
    return pa.table(columns, schema=SCHEMA)


def _opened(tmp_path: Path) -> OpenTable:
    return open_table(CatalogConfig.from_options({"warehouse": str(tmp_path)}), NAME)


def _ask(tmp_path: Path, *asked: str, **options: str) -> tuple[Value, ...] | None:
    opened = _opened(tmp_path)
    by_name = {column.name: column for column in opened.table.columns}
    aggregates = []
    for text in asked:
        kind, _, name = text.partition(" ")
        aggregates.append(Aggregate(kind=AggregateKind(kind), column=by_name.get(name)))
    return aggregate_metadata(
        opened, pin(opened.refreshed()), AskedRead.of({"path": NAME, **options}), aggregates
    )


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("count(*)", 3),
        ("count n", 2),
        ("count name", 2),
        ("count ratio", 2),
        ("count nothing", 0),
        ("min id", 1),
        ("max id", 3),
        ("min n", -7),
        ("max day", 19_723),
        ("min day", -1),
        ("max at", MICROSECONDS),
        ("min price", Decimal("-1.50")),
        ("max nothing", None),
    ],
)
def test_a_settled_table_answers(tmp_path: Path, asked: str, value: Value) -> None:
    """In Iceberg's internal form; nulls are left out, as SQL does."""
    _table(tmp_path, ROWS)

    assert _ask(tmp_path, asked) == (value,)


@pytest.mark.parametrize("asked", ["min ratio", "max ratio", "min name", "max name"])
def test_bounds_that_are_no_values_give_no_answer(tmp_path: Path, asked: str) -> None:
    """NaN is in no bound, and a long text is cut."""
    _table(tmp_path, ROWS)

    assert _ask(tmp_path, "count(*)", asked) is None


def test_a_table_without_rows_answers(tmp_path: Path) -> None:
    """As SQL does."""
    _table(tmp_path, [])

    assert _ask(tmp_path, "count(*)", "count n", "max id") == (0, 0, None)


def test_changes_that_can_touch_a_row_give_no_answer(tmp_path: Path) -> None:
    """Until they are merged."""
    table = _table(tmp_path, ROWS)
    table.write(_arrow([ROWS[2]]), mode="upsert")
    assert _ask(tmp_path, "count(*)") is None

    table.optimize(type="full")

    assert _ask(tmp_path, "count(*)", "max id") == (3, 3)


def test_position_deletes_give_no_answer(tmp_path: Path) -> None:
    """A count of the file's rows would be too great."""
    table = _table(tmp_path, ROWS, **{"self-optimizing.target-size": "1000"})
    table.write(_arrow(ROWS[2:]).select(["id"]), mode="delete")
    table.optimize(type="minor")
    opened = _opened(tmp_path)
    files = list_files(opened, pin(opened.refreshed()), field_ids=(), row_filter=None)
    assert files.position_deletes != ()

    assert _ask(tmp_path, "count(*)") is None


def test_new_keys_are_counted_before_they_are_merged(tmp_path: Path) -> None:
    """Inserts that no delete can touch are rows."""
    table = _table(tmp_path, ROWS)
    table.write(_arrow([(9, *ROWS[0][1:])]), mode="append")

    assert _ask(tmp_path, "count(*)", "max id", "max n") == (4, 9, 9)


def test_a_look_at_one_store_gives_no_answer(tmp_path: Path) -> None:
    """It has columns that no manifest knows."""
    _table(tmp_path, ROWS)

    assert _ask(tmp_path, "count(*)", store="base") is None


def test_files_without_metrics_give_no_answer(tmp_path: Path) -> None:
    """For the columns that lack them; a count of rows needs none."""
    _table(tmp_path, ROWS, **{"write.metadata.metrics.default": "none"})

    assert _ask(tmp_path, "count(*)") == (3,)
    assert _ask(tmp_path, "count n") is None
    assert _ask(tmp_path, "min n") is None


_NUMBERS = st.one_of(st.none(), st.integers(-5, 5))


@settings(max_examples=15, deadline=None)
@given(
    loaded=st.dictionaries(st.integers(0, 20), _NUMBERS, max_size=6),
    upserted=st.dictionaries(st.integers(0, 40), _NUMBERS, max_size=4),
    full=st.booleans(),
)
def test_an_answer_is_what_the_rows_say(
    tmp_path_factory: pytest.TempPathFactory,
    loaded: dict[int, int | None],
    upserted: dict[int, int | None],
    full: bool,
) -> None:
    """Whatever was written, merged or not."""
    folder = tmp_path_factory.mktemp("answers")
    table = _table(folder, [_numbered(item) for item in loaded.items()])
    if upserted:
        table.write(_arrow([_numbered(item) for item in upserted.items()]), mode="upsert")
    if full:
        table.optimize(type="full")

    answer = _ask(folder, "count(*)", "count n", "min n", "max id")

    model = {**loaded, **upserted}
    numbers = [number for number in model.values() if number is not None]
    expected = (
        len(model),
        len(numbers),
        min(numbers, default=None),
        max(model, default=None),
    )
    assert answer in (None, expected)
    assert answer == expected or (upserted and not full)


def _numbered(item: tuple[int, int | None]) -> tuple[Any, ...]:
    key, number = item
    return (key, number, None, None, None, None, None, None)
