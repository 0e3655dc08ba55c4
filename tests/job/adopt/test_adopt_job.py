"""Plain Iceberg tables that get a key: what is read then, what is refused, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

import arctic
from arctic.iceberg.adoption import join_pair as join_pair_module
from arctic.iceberg.adoption import part_pair as part_pair_module
from arctic.iceberg.adoption.commit_as_seen import commit_as_seen
from arctic.iceberg.adoption.part_pair import part_pair
from arctic.job.adopt import adopt_job, unique_key
from arctic.job.adopt.unique_key import check_unique
from tests.iceberg.plain_readers import by_duckdb, by_pyiceberg, plain_catalog

COLUMNS = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "region", StringType(), required=False),
    NestedField(3, "n", LongType(), required=False),
)
SPECS = {
    "plain": PartitionSpec(),
    "region": PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "region")),
    "bucket": PartitionSpec(PartitionField(1, 1000, BucketTransform(4), "id_bucket")),
}


def rows(ids: range, n: int) -> pa.Table:
    """Return rows of some keys."""
    regions = ["eu" if each % 2 else "us" for each in ids]
    schema = pa.schema([("id", pa.int64()), ("region", pa.string()), ("n", pa.int64())])
    return pa.table({"id": list(ids), "region": regions, "n": [n] * len(ids)}, schema=schema)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows in the order of their keys."""
    return sorted(table.to_pylist(), key=lambda row: (row["id"], row["n"]))


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A warehouse with an Arctic table in it, so that its catalog is there."""
    arctic.create_table("db.other", pa.schema([("id", pa.int64())]), warehouse=str(tmp_path))
    return str(tmp_path)


def plain(
    folder: str,
    *,
    spec: PartitionSpec = SPECS["plain"],
    version: str = "2",
    fill: Callable[[Table], Any] = lambda table: table.append(rows(range(50), 1)),
) -> None:
    """Make a plain Iceberg table ``db.t``."""
    with plain_catalog(folder) as catalog:
        table = catalog.create_table(
            "db.t", COLUMNS, partition_spec=spec, properties={"format-version": version}
        )
        fill(table)


def properties(folder: str) -> dict[str, str]:
    """Return what the plain table says of itself."""
    with plain_catalog(folder) as catalog:
        return dict(catalog.load_table("db.t").properties)


@pytest.mark.parametrize("layout", list(SPECS))
def test_an_adopted_table_takes_upserts(folder: str, layout: str) -> None:
    """Its rows are where they were; every kind of optimizing and cleaning leaves them right.

    What is published of it is right too, and a filter hides no row of it.
    """
    plain(folder, spec=SPECS[layout])
    before = properties(folder)
    table = arctic.adopt("db.t", primary_key="id", warehouse=folder)
    expected = {row["id"]: row for row in rows(range(50), 1).to_pylist()}

    def upsert(ids: range, n: int) -> None:
        table.write(rows(ids, n), mode="upsert")
        expected.update({row["id"]: row for row in rows(ids, n).to_pylist()})

    def check() -> None:
        due = sorted(expected.values(), key=lambda row: row["id"])
        assert rows_of(table.read().read_all()) == due
        arctic.publish("db.t", warehouse=folder)
        assert rows_of(by_pyiceberg(folder, "db.t_fresh")) == due
        with plain_catalog(folder) as catalog:
            shown = catalog.load_table("db.t_fresh")
            for n in (1, 2, 3):
                found = shown.scan(f"n = {n} and id >= 4 and region = 'us'").to_arrow()
                assert rows_of(found) == [
                    row for row in due if row["n"] == n and row["id"] >= 4 and row["region"] == "us"
                ]

    check()
    upsert(range(40, 60), 2)
    check()
    table.optimize(type="minor")
    upsert(range(5), 3)
    check()
    table.optimize(type="full")
    check()
    table.expire(options={"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"})
    check()

    arctic.unpublish("db.t", warehouse=folder)
    with plain_catalog(folder) as catalog:
        changes = catalog.load_table("db.t_change_").last_sequence_number
    arctic.release("db.t", warehouse=folder)
    assert rows_of(by_pyiceberg(folder, "db.t")) == sorted(
        expected.values(), key=lambda row: row["id"]
    )
    left = properties(folder)
    assert left.pop("arctic.released-changes") == str(changes)
    assert left == before
    assert not list((Path(folder) / "db" / "t_change_").rglob("*.*"))
    with pytest.raises(arctic.UnsupportedError, match="plain Iceberg table"):
        arctic.open_table("db.t", warehouse=folder)


def test_a_released_table_is_adopted_again(folder: str) -> None:
    """With another key, and without the changes of its earlier life."""
    plain(folder)
    table = arctic.adopt("db.t", primary_key="id", warehouse=folder)
    table.write(rows(range(3), 5), mode="upsert")
    with pytest.raises(arctic.InvalidInputError, match="change files are not merged"):
        arctic.release("db.t", warehouse=folder)
    arctic.release("db.t", discard_changes=True, warehouse=folder)
    table = arctic.adopt("db.t", primary_key=["region", "id"], warehouse=folder)

    assert rows_of(table.read().read_all()) == rows_of(rows(range(50), 1))
    assert table.primary_key == ("region", "id")


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_batch_that_landed_before_a_release_does_not_land_again(folder: str, mode: str) -> None:
    """Whichever store it went to, and where its writer was; also where another one came later."""
    table = arctic.create_table(
        "db.t", rows(range(1), 1).schema, primary_key="id", warehouse=folder
    )

    def batch(number: int, ids: range, mode: str) -> int:
        given = {"stream-query-id": "q", "stream-batch-id": f"{number}", "stream-position": "here"}
        return table.write(rows(ids, number), mode=mode, options=given).files

    batch(9, range(2), mode)
    batch(10, range(2, 4), "append")
    for _ in range(2):
        table.optimize(type="full")
        arctic.release("db.t", warehouse=folder)
        told = {name: text for name, text in properties(folder).items() if "arctic." in name}
        told.pop("arctic.released-changes")
        assert told == {"arctic.stream.q": "10", "arctic.stream-position.q": "here"}
        table = arctic.adopt("db.t", primary_key="id", warehouse=folder)
    for number, of_it in ((9, mode), (10, "append")):
        assert batch(number, range(4), of_it) == 0

    assert sorted(table.read().read_all()["id"].to_pylist()) == [0, 1, 2, 3]
    assert batch(11, range(4, 5), "append") > 0
    assert table.count() == 5


def test_a_table_with_ordering_columns_is_released_without_them(folder: str) -> None:
    """What held against late rows is gone with the change store; so it may be adopted again."""
    table = arctic.create_table(
        "db.t", rows(range(3), 5).schema, primary_key="id", ordering_columns="n", warehouse=folder
    )
    table.write(rows(range(3), 5))
    table.optimize(type="full")
    arctic.release("db.t", warehouse=folder)
    table = arctic.adopt("db.t", primary_key="id", warehouse=folder)
    table.write(rows(range(1), 4), mode="upsert")

    assert "write.ordering-columns" not in table.properties
    found = table.read().read_all().to_pylist()
    assert {row["id"]: row["n"] for row in found} == {0: 4, 1: 5, 2: 5}


@pytest.mark.parametrize("kind", ["minor", "full"])
def test_a_table_that_was_merged_is_adopted_again(folder: str, kind: str) -> None:
    """New changes are later than those that its files and snapshots name from its earlier life."""
    plain(folder)
    table = arctic.adopt("db.t", primary_key="id", warehouse=folder)
    for n in range(2, 6):
        table.write(rows(range(n), n), mode="upsert")
    table.optimize(type=kind)
    arctic.release("db.t", warehouse=folder)
    table = arctic.adopt("db.t", primary_key="id", warehouse=folder)
    table.write(rows(range(48, 52), 7), mode="upsert")
    table.write(rows(range(2), 8), mode="upsert")

    def values() -> dict[int, int]:
        found = table.read().read_all()
        ids = found.column("id").to_pylist()
        assert len(ids) == len(set(ids))
        return dict(zip(ids, found.column("n").to_pylist(), strict=True))

    expected = dict.fromkeys(range(52), 1) | dict.fromkeys(range(48, 52), 7)
    expected |= {0: 8, 1: 8, 2: 5, 3: 5, 4: 5}
    assert values() == expected
    table.optimize(type="minor")
    assert values() == expected
    table.write(rows(range(3), 9), mode="overwrite")
    table.write(rows(range(1), 10), mode="upsert")
    assert values() == {0: 10, 1: 9, 2: 9}


@pytest.mark.parametrize(
    ("more", "key", "said"),
    [
        (rows(range(3), 2), ["id"], "{'id': 0} in 2 rows"),
        (pa.table({"id": pa.array([None, None], pa.int64())}), ["id"], "None"),
        (rows(range(0), 2), ["region"], "'us'"),
    ],
)
def test_a_key_that_is_none_is_named(
    folder: str, more: pa.Table, key: list[str], said: str
) -> None:
    """Nothing is stored: the table is as it was."""

    def fill(table: Table) -> None:
        table.append(rows(range(50), 1))
        if more.num_rows:
            table.append(more)

    plain(folder, fill=fill)
    before = properties(folder)

    with pytest.raises(arctic.InvalidInputError, match="is not unique") as error:
        arctic.adopt("db.t", primary_key=key, warehouse=folder)

    assert said in str(error.value)
    assert properties(folder) == before
    with plain_catalog(folder) as catalog:
        assert [name for _, name in catalog.list_tables("db")] == ["other", "t"]


def test_keys_that_do_not_fit_into_memory_are_looked_at_on_disk(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A duplicate among many is found in little memory."""
    monkeypatch.setattr(unique_key, "MOST_BYTES", 32 * 2**20)
    count = 1_500_000
    ids = pa.array(range(count), pa.int64())
    keys = pa.table({"id": pa.concat_arrays([ids, pa.array([count // 2], pa.int64())])})
    plain(folder, fill=lambda table: table.append(keys))

    with pytest.raises(arctic.InvalidInputError, match=f"{count // 2}"):
        arctic.adopt("db.t", primary_key="id", warehouse=folder)


def test_a_trusted_key_is_not_looked_at(folder: str) -> None:
    """Both rows of a key are read, until it is upserted."""
    plain(folder, fill=lambda table: table.append(pa.concat_tables([rows(range(3), 1)] * 2)))
    table = arctic.adopt("db.t", primary_key="id", check_key=False, warehouse=folder)
    assert table.count() == 6

    table.write(rows(range(1), 2), mode="upsert")
    assert table.count() == 5


def test_files_without_field_ids_are_adopted(folder: str, tmp_path: Path) -> None:
    """As they come to a table that is given files of others."""
    path = tmp_path / "given.parquet"
    pq.write_table(rows(range(20), 1), path)
    plain(folder, fill=lambda table: table.add_files([f"file://{path}"]))
    table = arctic.adopt("db.t", primary_key="id", warehouse=folder)
    table.write(rows(range(5), 2), mode="upsert")

    assert sorted(table.read().read_all().column("n").to_pylist()) == [1] * 15 + [2] * 5
    arctic.publish("db.t", warehouse=folder)
    for read in (by_pyiceberg, by_duckdb):
        assert rows_of(read(folder, "db.t_fresh")) == rows_of(table.read().read_all())


def test_a_file_that_says_nothing_of_its_columns_is_refused(folder: str, tmp_path: Path) -> None:
    """Where its keys are looked at, or else by whoever reads it."""
    path = tmp_path / "given.parquet"
    pq.write_table(rows(range(20), 1), path)

    def add(table: Table) -> None:
        table.add_files([f"file://{path}"])
        with table.transaction() as change:
            change.remove_properties("schema.name-mapping.default")

    plain(folder, fill=add)
    with pytest.raises(arctic.FormatError, match="no column has a field id"):
        arctic.adopt("db.t", primary_key="id", warehouse=folder)
    table = arctic.adopt("db.t", primary_key="id", check_key=False, warehouse=folder)
    with pytest.raises(arctic.FormatError, match="no column has a field id"):
        table.read().read_all()


def test_changed_columns_are_adopted(folder: str) -> None:
    """Field ids with a gap, and several schemas."""

    def evolve(table: Table) -> None:
        table.append(rows(range(10), 1))
        for name in ("x", "y"):
            with table.update_schema() as update:
                update.add_column(name, LongType())
        with table.update_schema() as update:
            update.delete_column("x")

    plain(folder, fill=evolve)
    table = arctic.adopt("db.t", primary_key="id", warehouse=folder)
    changed = pa.table({"id": [1], "region": ["eu"], "n": [2], "y": [7]})
    table.write(changed, mode="upsert")

    assert table.read(filter="id = 1").read_all().to_pylist() == changed.to_pylist()
    assert table.count() == 10


def test_what_cannot_be_adopted_is_refused(folder: str) -> None:
    """Each with its reason, and nothing is changed."""
    plain(folder, version="1")
    for name, key, error, text in (
        ("db.t", "id", arctic.UnsupportedError, "format version 1"),
        ("db.t", "none", arctic.UnsupportedError, "format version 1"),
        ("db.other", "id", arctic.AlreadyExistsError, "Arctic's already"),
        ("db.nothing", "id", arctic.NotFoundError, "not found"),
    ):
        with pytest.raises(error, match=text):
            arctic.adopt(name, primary_key=key, warehouse=folder)
    assert "arctic.adopted" not in properties(folder)


def test_columns_that_are_no_key_are_refused(folder: str) -> None:
    """Before a row is read."""
    plain(folder)
    for key in ([], ["none"], ["id", "id"], ["a,b"]):
        with pytest.raises(arctic.InvalidInputError):
            arctic.adopt("db.t", primary_key=key, warehouse=folder)


def test_a_partition_spec_that_was_changed_is_refused(folder: str) -> None:
    """Its files do not all have the same partitions."""

    def respec(table: Table) -> None:
        table.append(rows(range(10), 1))
        with table.update_spec() as update:
            update.add_identity("region")

    plain(folder, fill=respec)
    with pytest.raises(arctic.UnsupportedError, match="partition spec was changed"):
        arctic.adopt("db.t", primary_key="id", warehouse=folder)


def test_rows_that_come_while_keys_are_looked_at_are_not_missed(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key was looked for in other rows than the table has by now."""
    plain(folder)

    def slow(*arguments: Any) -> None:
        check_unique(*arguments)
        with plain_catalog(folder) as catalog:
            catalog.load_table("db.t").append(rows(range(3), 9))

    monkeypatch.setattr(adopt_job, "check_unique", slow)
    with pytest.raises(arctic.ConflictError, match="adopt it again"):
        arctic.adopt("db.t", primary_key="id", warehouse=folder)

    with plain_catalog(folder) as catalog:
        assert [name for _, name in catalog.list_tables("db")] == ["other", "t"]
    monkeypatch.undo()
    with pytest.raises(arctic.InvalidInputError, match="is not unique"):
        arctic.adopt("db.t", primary_key="id", warehouse=folder)


def test_a_release_while_others_write_changes_nothing(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they wrote is there afterwards."""
    plain(folder)
    table = arctic.adopt("db.t", primary_key="id", warehouse=folder)

    def late(opened: Any) -> None:
        table.write(rows(range(70, 73), 4), mode="upsert")
        part_pair(opened)

    monkeypatch.setattr(adopt_job, "part_pair", late)
    with pytest.raises(arctic.ConflictError, match="release it again"):
        arctic.release("db.t", warehouse=folder)

    assert arctic.open_table("db.t", warehouse=folder).count() == 53


def test_a_commit_that_comes_before_the_change_store_is_out_of_reach_is_kept(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who had opened the pair before is told that it was committed."""
    plain(folder)
    arctic.adopt("db.t", primary_key="id", warehouse=folder)

    def late(*arguments: Any) -> bool:
        landed = commit_as_seen(*arguments)
        with plain_catalog(folder) as catalog:
            catalog.load_table("db.t_change_").append(rows(range(70, 73), 4))
        return landed

    monkeypatch.setattr(part_pair_module, "commit_as_seen", late)
    with pytest.raises(arctic.ConflictError, match="release it again"):
        arctic.release("db.t", warehouse=folder)

    assert arctic.open_table("db.t", warehouse=folder).count() == 53


@pytest.mark.parametrize("merges", [False, True])
def test_who_adopts_later_takes_no_rows_of_who_was_faster(
    folder: str, monkeypatch: pytest.MonkeyPatch, merges: bool
) -> None:
    """Looking at keys takes long: meanwhile the table may be adopted and written to."""
    plain(folder)

    def slow(*_: Any) -> None:
        monkeypatch.undo()
        table = arctic.adopt("db.t", primary_key=["id"], check_key=False, warehouse=folder)
        table.write(rows(range(48, 60), 2), mode="upsert")
        if merges:
            table.optimize(type="full")
        table.write(rows(range(59, 61), 3), mode="upsert")

    monkeypatch.setattr(adopt_job, "check_unique", slow)
    with pytest.raises(arctic.AlreadyExistsError, match="meanwhile"):
        arctic.adopt("db.t", primary_key=["region", "id"], warehouse=folder)

    table = arctic.open_table("db.t", warehouse=folder)
    assert (table.primary_key, table.count()) == (("id",), 61)


def test_two_that_adopt_at_once_share_a_change_store(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose commit comes second fails, and what the first wrote since stays."""
    plain(folder)

    def slow(*arguments: Any) -> bool:
        monkeypatch.undo()
        table = arctic.adopt("db.t", primary_key="id", warehouse=folder)
        table.write(rows(range(48, 60), 2), mode="upsert")
        return commit_as_seen(*arguments)

    monkeypatch.setattr(join_pair_module, "commit_as_seen", slow)
    with pytest.raises(arctic.AlreadyExistsError, match="meanwhile"):
        arctic.adopt("db.t", primary_key="id", warehouse=folder)

    assert arctic.open_table("db.t", warehouse=folder).count() == 60


def test_columns_that_change_while_keys_are_looked_at_are_seen(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that is renamed is none any more."""
    plain(folder)

    def slow(*arguments: Any) -> None:
        check_unique(*arguments)
        with plain_catalog(folder) as catalog, catalog.load_table("db.t").update_schema() as update:
            update.rename_column("id", "number")

    monkeypatch.setattr(adopt_job, "check_unique", slow)
    with pytest.raises(arctic.ConflictError, match="adopt it again"):
        arctic.adopt("db.t", primary_key="id", warehouse=folder)
    assert "arctic.adopted" not in properties(folder)


def test_a_table_without_a_key_has_nothing_to_part_from(folder: str) -> None:
    """It is a plain Iceberg table but for its properties."""
    with pytest.raises(arctic.InvalidInputError, match="no primary key"):
        arctic.release("db.other", warehouse=folder)
