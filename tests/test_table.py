"""The object that a table is: what it says of itself, and short ways to its rows."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError, UnsupportedError

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a<b", pa.string())])


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> arctic.Table:
    """A table of four rows, one of them written twice."""
    table = arctic.create_table(
        "shop.users",
        SCHEMA,
        primary_key="id",
        partition_by="bucket(2, id)",
        warehouse=str(tmp_path_factory.mktemp("lake")),
    )
    table.write(rows(1, 2, 3), mode="upsert")
    table.write(rows(3, 4), mode="upsert")
    return table


def rows(*ids: int) -> pa.Table:
    """Return a row for each key."""
    return pa.Table.from_pylist([{"id": key, "a<b": f"v{key}"} for key in ids], SCHEMA)


def test_rows_are_counted_whatever_must_be_read_for_it(users: arctic.Table) -> None:
    """Of the merged view, now and in the past, with a filter and without."""
    first = users.history()["snapshot_id"][0].as_py()

    assert users.count() == 4
    assert users.count(filter="id > 2") == 2
    assert users.count(options={"snapshot-id": str(first)}) == 3
    assert users.count(as_of=first) == 3
    assert (
        users.count(options={"store": "change"})
        == users.read(options={"store": "change"}).read_all().num_rows
    )


def test_a_merged_table_is_counted_without_a_read(tmp_path: Path) -> None:
    """Its files are gone, and it still knows."""
    table = arctic.create_table("db.log", SCHEMA, warehouse=str(tmp_path))
    table.write(rows(1, 2, 3), mode="append")
    for file in (tmp_path / "db").rglob("data/**/*.parquet"):
        file.unlink()

    assert table.count() == 3


def test_the_first_rows_are_as_many_as_asked(users: arctic.Table) -> None:
    """Also more than there are, or none; with the columns and filters of a read."""
    assert users.head().num_rows == 4
    assert users.head(3).num_rows == 3
    assert users.head(0).schema == users.schema
    with pytest.raises(InvalidInputError, match="limit = -1"):
        users.head(-1)
    assert users.head(5, columns="id", filter="id = 4").to_pylist() == [{"id": 4}]


def test_the_history_is_in_order(users: arctic.Table) -> None:
    """Oldest first."""
    history = users.history()

    assert history["store"].to_pylist() == ["change", "change"]
    assert history["sequence_number"].to_pylist() == [1, 2]


def test_pandas_takes_rows_or_is_asked_for(users: arctic.Table) -> None:
    """It is no requirement of this package."""
    if find_spec("pandas") is None:
        with pytest.raises(UnsupportedError, match="pip install pandas"):
            users.to_pandas()
    else:
        assert sorted(users.to_pandas(columns="id")["id"]) == [1, 2, 3, 4]


def test_a_notebook_shows_columns_without_reading(users: arctic.Table) -> None:
    """Names are data, not markup."""
    html = users._repr_html_()

    assert "<strong>shop.users</strong> &middot; key: id" in html
    assert "partitions: bucket(2, id)" in html
    assert "<td>a&lt;b</td><td>string</td>" in html
    assert "a<b" not in html


def test_the_description_follows_the_table(tmp_path: Path) -> None:
    """Through its own verbs at once; through those of another object after a refresh."""
    one = arctic.create_table("db.t", SCHEMA, warehouse=str(tmp_path))
    other = arctic.open_table("db.t", warehouse=str(tmp_path))

    assert one.evolve_schema(add={"note": pa.string()}) is one
    assert one.schema.names == ["id", "a<b", "note"]
    assert other.schema.names == ["id", "a<b"]
    assert other.refresh().schema.names == other.schema.names == one.schema.names
    one.set_properties({"owner": "ann"}).rename("db.u")
    assert (one.name, one.properties["owner"], one.count()) == ("db.u", "ann", 0)


def test_reports_are_read_in_a_terminal(users: arctic.Table) -> None:
    """A status says what is due and where; a write says what it made."""
    status = str(users.status())
    report = str(users.write(rows(1), mode="upsert"))

    assert status.splitlines()[0].startswith("shop.users: health ")
    assert len(status.splitlines()) == 3
    assert "  id_bucket=0: health " in status
    assert "PartitionStatus" not in status
    assert report.startswith("1 rows came in; 1 inserts and 1 deletes in 2 files of 0.0 MiB, in ")
