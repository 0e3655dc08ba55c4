"""Folders of Parquet files that become tables with a key; their files stay as they are."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arctic
from arctic.iceberg.adoption.parquet_folder import register_folder
from arctic.iceberg.catalogs.catalog import CatalogConfig
from tests.iceberg.plain_readers import by_duckdb, by_pyiceberg

AT_ONCE = {
    "change.data.ttl.minutes": "0",
    "snapshot.keep.duration": "0",
    "clean-orphan-file.min-existing-time-minutes": "0",
}


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """Three files in two folders, with a column that one of them lacks."""
    folder = tmp_path / "given"
    (folder / "more").mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2], "n": [1, 1]}), folder / "a.parquet")
    pq.write_table(pa.table({"n": [1, 1], "id": [3, 4]}), folder / "b.parquet")
    pq.write_table(pa.table({"id": [5], "n": [1], "x": ["x"]}), folder / "more" / "c.parquet")
    (folder / "_SUCCESS").touch()
    return folder


def values(table: pa.Table) -> dict[int, tuple[int, str | None]]:
    """Return the rows by key."""
    assert len(set(table.column("id").to_pylist())) == table.num_rows
    return {row["id"]: (row["n"], row["x"]) for row in table.to_pylist()}


def test_a_folder_becomes_a_table(tmp_path: Path, given: Path) -> None:
    """It takes upserts, is published, merged, cleaned and released; no file of it is touched."""
    lake = str(tmp_path / "lake")
    before = {path: path.stat().st_mtime_ns for path in given.rglob("*.parquet")}
    table = arctic.adopt("db.t", primary_key="id", files=str(given), warehouse=lake)
    expected: dict[int, tuple[int, str | None]] = dict.fromkeys(range(1, 5), (1, None))
    expected[5] = (1, "x")
    assert values(table.read().read_all()) == expected
    for read in (by_pyiceberg, by_duckdb):
        assert values(read(lake, "db.t")) == expected

    table.write(pa.table({"id": [2, 5, 6], "n": [2] * 3, "x": ["y"] * 3}), mode="upsert")
    expected |= dict.fromkeys([2, 5, 6], (2, "y"))
    arctic.publish("db.t", warehouse=lake)
    for read in (by_pyiceberg, by_duckdb):
        assert values(read(lake, "db.t_fresh")) == expected
    arctic.unpublish("db.t", warehouse=lake)
    table.optimize(type="full")
    table.expire(options=AT_ONCE)
    arctic.release("db.t", warehouse=lake)
    assert values(by_pyiceberg(lake, "db.t")) == expected
    assert {path: path.stat().st_mtime_ns for path in given.rglob("*.parquet")} == before


def test_a_key_that_is_none_leaves_no_table(tmp_path: Path, given: Path) -> None:
    """The folder can be adopted afterwards, with another key."""
    lake = str(tmp_path / "lake")
    with pytest.raises(arctic.InvalidInputError, match="is not unique"):
        arctic.adopt("db.t", primary_key="n", files=str(given), warehouse=lake)

    assert not list(Path(lake).rglob("*.json"))
    assert arctic.adopt("db.t", primary_key="id", files=str(given), warehouse=lake).count() == 5
    with pytest.raises(arctic.AlreadyExistsError, match="adopt it without files"):
        arctic.adopt("db.t", primary_key="id", files=str(given), warehouse=lake)


def test_what_would_be_read_otherwise_is_refused(tmp_path: Path, given: Path) -> None:
    """Each names a file or a folder; there is no table then."""
    lake = str(tmp_path / "lake")
    rows = pa.table({"id": [7], "n": [1]})
    ids = pa.schema([pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})])
    cases: list[tuple[str, pa.Table | None, type[Exception], str]] = [
        ("notes.txt", None, arctic.InvalidInputError, "expected only Parquet files"),
        ("50%.parquet", rows, arctic.InvalidInputError, "expected only Parquet files"),
        ("n=1/d.parquet", rows, arctic.UnsupportedError, "name partitions"),
        ("e.parquet", pa.table({"id": ["7"]}), arctic.InvalidInputError, "id"),
        ("f.parquet", pa.table({"id": [7]}, schema=ids), arctic.UnsupportedError, "field ids"),
        ("g.parquet", None, arctic.FormatError, "g.parquet"),
    ]
    for name, table, error, text in cases:
        path = given / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("") if table is None else pq.write_table(table, path)
        with pytest.raises(error, match=text):
            arctic.adopt("db.t", primary_key="id", files=str(given), warehouse=lake)
        path.unlink()
    with pytest.raises(arctic.NotFoundError, match="no file in it"):
        arctic.adopt("db.t", primary_key="id", files=str(tmp_path / "none"), warehouse=lake)
    table = arctic.create_table("db.own", rows.schema, primary_key="id", warehouse=lake)
    table.write(rows, mode="upsert")
    with pytest.raises(arctic.InvalidInputError, match=r"lies in the folder of 'db\.own_change_'"):
        arctic.adopt("db.t", primary_key="id", files=f"{lake}/db/own_change_/data", warehouse=lake)
    assert arctic.list_tables(warehouse=lake) == ["db.own"]


def test_a_folder_is_found_whole_or_not_at_all(tmp_path: Path, given: Path) -> None:
    """Its only snapshot has all files."""
    config = CatalogConfig.from_options({"warehouse": str(tmp_path / "lake")})
    made = register_folder(config, "db.t", str(given))

    (snapshot,) = made.metadata.snapshots
    assert snapshot.summary is not None
    assert snapshot.summary["total-data-files"] == "3"


def test_files_that_were_written_again_are_read_again(tmp_path: Path) -> None:
    """By a process that has published a table of others with the same names."""
    folder, lake = tmp_path / "given", str(tmp_path / "lake")
    folder.mkdir()
    for name, ids in (("db.one", [1, 2, 3, 4, 5]), ("db.two", [5, 4, 3, 2, 1])):
        pq.write_table(pa.table({"id": ids, "n": [0] * 5, "x": ["x"] * 5}), folder / "a.parquet")
        table = arctic.adopt(name, primary_key="id", files=str(folder), warehouse=lake)
        for changed in (1, 2, 4):
            table.write(pa.table({"id": [changed], "n": [1], "x": ["y"]}), mode="upsert")
            arctic.publish(name, warehouse=lake)
            assert values(by_duckdb(lake, f"{name}_fresh")) == values(table.read().read_all())
        arctic.unpublish(name, warehouse=lake)
        arctic.drop_table(name, warehouse=lake)


@pytest.mark.parametrize(
    "texts", [["b", "z" * 5000, "c"], ["x" * 15 + "\ud7ff" + "more"]], ids=["long", "cut"]
)
def test_bounds_of_its_texts_hide_no_row(tmp_path: Path, texts: list[str]) -> None:
    """Of one that is too long for Parquet's own, and one that is cut before half of a character."""
    folder = tmp_path / "given"
    folder.mkdir()
    rows = pa.table({"id": range(len(texts)), "s": texts})
    pq.write_table(rows, folder / "a.parquet", row_group_size=1)

    table = arctic.adopt(
        "db.t", primary_key="id", files=str(folder), warehouse=str(tmp_path / "lake")
    )

    for number, text in enumerate(texts):
        found = table.read(filter=f"s = '{text}'").read_all()
        assert found.to_pylist() == [{"id": number, "s": text}]
