"""Rows of a source come in any form that Arrow has for their types; what is merged is the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from tests.job.edit.rows import ROWS, make, rows_of

PLACE = pa.struct([("street", pa.string()), ("names", pa.list_(pa.string()))])
SOURCE = pa.table(
    {
        "id": [1, 4, 8],
        "city": ["Bonn", None, "Lima"],
        "n": pa.array([10, 40, 80], pa.int32()),
        "place": pa.array(
            [{"street": "a", "names": ["x", None]}, None, {"street": None, "names": None}], PLACE
        ),
    }
)
MERGED = [
    {**ROWS[0], "n": 11, "city": "bonn"},
    *ROWS[1:3],
    {**ROWS[3], "n": 44, "city": None},
    ROWS[4],
    {"id": 8, "city": "Lima", "n": 80, "x": None},
]


def _as(rows: pa.Table, **kinds: pa.DataType) -> pa.Table:
    """Return rows with other types of some columns."""
    for name, kind in kinds.items():
        place = rows.schema.get_field_index(name)
        values = rows.column(name).to_pylist()
        rows = rows.set_column(place, pa.field(name, kind), pa.array(values, kind))
    return rows


def _in_chunks(rows: pa.Table) -> pa.Table:
    """Return rows in chunks of one, some of which are empty."""
    chunks = [rows.slice(0, 0), rows.slice(0, 1), rows.slice(1, 0), rows.slice(1, 1), rows.slice(2)]
    return pa.concat_tables(chunks)


def _with_dictionaries(rows: pa.Table) -> pa.Table:
    """Return rows in chunks whose dictionaries differ."""
    rows = rows.set_column(1, "city", rows.column("city").combine_chunks().dictionary_encode())
    rows = rows.set_column(0, "id", rows.column("id").combine_chunks().dictionary_encode())
    parts = [
        part.set_column(1, "city", part.column("city").cast(pa.string()).dictionary_encode())
        for part in (rows.slice(0, 1), rows.slice(1))
    ]
    return pa.concat_tables(parts)


VIEWS = pa.struct([("street", pa.string_view()), ("names", pa.list_(pa.string_view()))])
LISTS = pa.struct([("street", pa.large_string()), ("names", pa.large_list(pa.large_string()))])
FORMS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "plain": lambda rows: rows,
    "views": lambda rows: _as(rows, city=pa.string_view(), place=VIEWS),
    "large": lambda rows: _as(rows, city=pa.large_string(), place=LISTS),
    "list views": lambda rows: _as(
        rows,
        place=pa.struct([("street", pa.string()), ("names", pa.list_view(pa.string_view()))]),
    ),
    "dictionaries": _with_dictionaries,
    "chunks": _in_chunks,
    "chunks of views": lambda rows: _in_chunks(_as(rows, city=pa.string_view(), place=VIEWS)),
}


@pytest.mark.parametrize("layout", ["keyed", "moving", "no key"])
@pytest.mark.parametrize("form", FORMS)
def test_a_merge_takes_rows_in_any_form(tmp_path: Path, layout: str, form: str) -> None:
    """Values are picked, compared, evaluated and written as those of a plain one."""
    table = make(tmp_path, layout)

    (
        table.merge(FORMS[form](SOURCE), on="id")
        .when_matched_update(
            {"n": "source.n + target.n", "city": "lower(source.city)"},
            condition="source.place.street = 'a' OR source.city IS NULL",
        )
        .when_not_matched_insert({"id": "source.id", "city": "source.city", "n": "source.n"})
        .execute()
    )

    assert rows_of(table) == MERGED


@pytest.mark.parametrize("form", FORMS)
def test_a_merge_that_reads_nothing_takes_them_too(tmp_path: Path, form: str) -> None:
    """Nested columns as well."""
    schema = pa.schema([field.with_nullable(field.name != "id") for field in SOURCE.schema])
    table = arctic.create_table("m.t", schema, primary_key="id", warehouse=str(tmp_path))
    source = FORMS[form](SOURCE)

    upsert = table.merge(source).when_matched_update_all().when_not_matched_insert_all()
    report = upsert.execute()

    assert not report.reads_table
    assert rows_of(table) == SOURCE.to_pylist()
    change = table.merge(source).when_matched_update_all(condition="target.n > 10")
    assert change.execute().rows_updated == 2
    assert rows_of(table) == SOURCE.to_pylist()
    assert table.merge(source).when_matched_delete().execute().rows_written == 3
    assert rows_of(table) == []


@pytest.mark.parametrize("layout", ["keyed", "moving", "no key"])
@pytest.mark.parametrize("form", FORMS)
def test_a_source_may_be_empty(tmp_path: Path, layout: str, form: str) -> None:
    """Without a chunk, too: then rows that it does not match are all."""
    table = make(tmp_path, layout)
    schema = FORMS[form](SOURCE).schema
    empty = pa.Table.from_batches([], schema)

    for source in (empty, schema.empty_table()):
        all_columns = {"id": "source.id", "city": "source.city", "n": "source.n"}
        merge = table.merge(source, on="id").when_matched_update({"n": "source.n"})
        report = merge.when_not_matched_insert(all_columns).execute()
        assert report.snapshot_id is None
    assert rows_of(table) == ROWS
    merge = table.merge(empty, on="id").when_matched_delete()
    merge.when_not_matched_by_source_delete(condition="target.n > 3").execute()
    assert rows_of(table) == ROWS[:3]


def test_null_fits_a_column_of_any_type(tmp_path: Path) -> None:
    """Of NULL alone DuckDB says that it is a whole number, which is no time and no list."""
    kinds = {
        "at": pa.timestamp("us"),
        "tz": pa.timestamp("us", "UTC"),
        "day": pa.date32(),
        "raw": pa.binary(),
        "four": pa.binary(4),
        "price": pa.decimal128(8, 2),
        "tags": pa.list_(pa.string()),
        "place": PLACE,
        "named": pa.map_(pa.string(), pa.int32()),
    }
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), *kinds.items()])
    table = arctic.create_table("m.t", schema, primary_key="id", warehouse=str(tmp_path))
    empty = dict.fromkeys(kinds)

    table.merge(SOURCE.select(["id"])).when_not_matched_insert({"id": "source.id"}).execute()
    assert rows_of(table) == [{"id": number, **empty} for number in (1, 4, 8)]
    full = {"id": 4, "four": b"abcd", "tags": ["a"], "place": {"street": "b", "names": None}}
    table.write(pa.Table.from_pylist([full], schema), mode="upsert")
    table.update("id + 0 = 4", set=empty)
    assert rows_of(table)[1] == {"id": 4, **empty}
    with pytest.raises(arctic.InvalidInputError, match="must have a value"):
        table.update("id = 4", set={"id": None})
