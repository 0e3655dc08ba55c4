"""Columns that the rows of a write do not have: refused, null, or kept as they are stored."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import ConflictError, InvalidInputError
from arctic.job.read.locate import locate_rows
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import commit_write
from arctic.job.write.stored_rows import looked_up
from arctic.job.write.write_job import WriteJob, begin_write
from arctic.job.write.write_task import write_task
from arctic.writing.target import TaskResult

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("n", pa.int64()),
        pa.field("tags", pa.list_(pa.string())),
    ]
)
KEEP = {"missing-columns": "keep"}
Row = tuple[int, str | None, int | None, str | None]


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """Return the folder of an embedded catalog."""
    return str(tmp_path)


def create(warehouse: str, *rows: Row, partition_by: Sequence[str] = (), **more: str) -> None:
    """Create the table m.t with key id, and rows in its change store."""
    arctic.create_table(
        "m.t",
        SCHEMA,
        primary_key=["id"],
        partition_by=partition_by,
        properties=more,
        warehouse=warehouse,
    )
    if rows:
        put(warehouse, *rows)


def put(warehouse: str, *rows: Row) -> None:
    """Upsert whole rows; a tag stands for a list of it."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    columns[3] = [None if tag is None else [tag] for tag in columns[3]]
    arctic.write("m.t", pa.table(columns, schema=SCHEMA), mode="upsert", warehouse=warehouse)


def merge(warehouse: str) -> None:
    """Bring everything into the base store."""
    arctic.optimize("m.t", type="full", warehouse=warehouse)


def frame(**columns: list[Any]) -> pa.Table:
    """Return rows with some of the columns, and what is no column of the table."""
    types = {field.name: field.type for field in SCHEMA}
    return pa.table({name: pa.array(each, types.get(name)) for name, each in columns.items()})


def write(warehouse: str, rows: pa.Table, mode: str | None = "upsert", /, **options: str) -> None:
    """Write what there is of rows; underscores in options stand for hyphens."""
    given = {name.replace("_", "-"): text for name, text in options.items()}
    arctic.write("m.t", rows, mode=mode, options=given, warehouse=warehouse)


def keep(warehouse: str, /, **columns: list[Any]) -> None:
    """Upsert some columns and keep the others."""
    write(warehouse, frame(**columns), missing_columns="keep")


def read(warehouse: str) -> list[Row]:
    """Read the merged view, by key."""
    rows = arctic.read("m.t", warehouse=warehouse).read_all().to_pylist()
    found = [(row["id"], row["region"], row["n"], row["tags"] and row["tags"][0]) for row in rows]
    return sorted(found, key=str)


@pytest.mark.parametrize(
    ("mode", "options"),
    [("upsert", {}), (None, {}), ("append", {"action-column": "op"})],
    ids=["upsert", "no mode", "replay"],
)
def test_an_upsert_that_lacks_columns_is_refused(
    warehouse: str, mode: str | None, options: dict[str, str]
) -> None:
    """All of them are named, and what to do; nothing is written."""
    create(warehouse, (1, "eu", 1, "a"))
    rows = frame(id=[1], n=[2], **({"op": ["U"]} if options else {}))
    with pytest.raises(InvalidInputError) as caught:
        arctic.write("m.t", rows, mode=mode, options=options, warehouse=warehouse)

    assert "lacks region, tags" in caught.value.message
    assert "missing-columns=keep" in caught.value.message
    assert "missing-columns=null" in caught.value.message
    assert read(warehouse) == [(1, "eu", 1, "a")]


def test_null_may_be_asked_for(warehouse: str) -> None:
    """The stored values are lost then, and new keys have none."""
    create(warehouse, (1, "eu", 1, "a"))
    write(warehouse, frame(id=[1, 2], n=[2, 3]), missing_columns="null")

    assert read(warehouse) == [(1, None, 2, None), (2, None, 3, None)]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_rows_that_replace_none_may_lack_columns(warehouse: str, mode: str) -> None:
    """Nothing that is stored is lost by them; a refusal may be asked for."""
    create(warehouse, partition_by=["region"])
    write(warehouse, frame(id=[2], n=[3]), mode)
    with pytest.raises(InvalidInputError, match="lacks region, tags"):
        write(warehouse, frame(id=[3], n=[3]), mode, missing_columns="refuse")

    assert read(warehouse) == [(2, None, 3, None)]


@pytest.mark.parametrize("mode", ["append", "overwrite", "delete"])
def test_only_an_upsert_can_keep(warehouse: str, mode: str) -> None:
    """An option that would be ignored is refused."""
    create(warehouse)
    with pytest.raises(InvalidInputError, match="expected mode upsert"):
        write(warehouse, frame(id=[2], n=[3]), mode, missing_columns="keep")


def test_a_delete_needs_its_key_alone(warehouse: str) -> None:
    """Whatever the table has beside it."""
    create(warehouse, (1, "eu", 1, "a"), partition_by=["region"])
    write(warehouse, frame(id=[1]), "delete")

    assert read(warehouse) == []


@pytest.mark.parametrize("partition_by", [[], ["region"], ["bucket(2, id)"]], ids=str)
def test_stored_values_stay_wherever_they_are_stored(
    warehouse: str, partition_by: list[str]
) -> None:
    """In base, in the change store, in both; and for a key that is new there is nothing."""
    create(warehouse, (1, "eu", 1, "a"), (2, "us", 2, "b"), partition_by=partition_by)
    merge(warehouse)
    put(warehouse, (2, "eu", 22, "bb"), (3, None, 3, "c"))
    keep(warehouse, id=[1, 2, 3, 4], n=[10, 20, None, 40])

    expected = [(1, "eu", 10, "a"), (2, "eu", 20, "bb"), (3, None, None, "c"), (4, None, 40, None)]
    assert read(warehouse) == expected
    merge(warehouse)
    assert read(warehouse) == expected


def test_a_row_that_moves_keeps_the_rest(warehouse: str) -> None:
    """Its partition is given, another column is not; also where nobody expects it to move."""
    create(warehouse, (1, "eu", 1, "a"), (2, "eu", 2, "b"), partition_by=["region"])
    keep(warehouse, id=[1], region=["us"])
    write(
        warehouse, frame(id=[2], region=["us"]), missing_columns="keep",
        **{"write.upsert.cross-partition": "assume-stable"},
    )  # fmt: skip

    assert read(warehouse) == [(1, "us", 1, "a"), (2, "us", 2, "b")]


def test_of_several_events_of_a_key_the_last_one_counts(warehouse: str) -> None:
    """By the ordering column, which need not be a column of the table."""
    create(warehouse, (1, "eu", 1, "a"))
    events = frame(id=[1, 1, 1, 2, 2], n=[7, 9, 8, 1, 2], at=[1, 3, 2, 1, 2])
    write(warehouse, events, missing_columns="keep", ordering_column="at")
    keep(warehouse, id=[1, 1], region=["us", "ap"])

    assert read(warehouse) == [(1, "ap", 9, "a"), (2, None, 2, None)]


REPLAYS: dict[str, tuple[str | None, str | None] | None] = {
    "U": ("eu", "a"),
    "I": ("eu", "a"),
    "-U +U": ("eu", "a"),
    "U U": ("eu", "a"),
    "D": None,
    "U D": None,
    "D I": (None, None),
    "D I U": (None, None),
    "-U I": (None, None),
    "-U +U D U": (None, None),
}
"""Events of a key, and what is left of its region and tag; None: no row."""


@pytest.mark.parametrize("partition_by", [[], ["region"]], ids=str)
def test_a_replay_keeps_what_is_stored_until_it_deletes_it(
    warehouse: str, partition_by: list[str]
) -> None:
    """As if each event were a write of its own."""
    stored: list[Row] = [(number, "eu", 1, "a") for number in range(len(REPLAYS) + 1)]
    create(warehouse, *stored, partition_by=partition_by)
    events = [(number, op) for number, ops in enumerate(REPLAYS) for op in ops.split()]
    ids, actions = zip(*events, strict=True)
    rows = frame(id=list(ids), n=[9] * len(ids), op=list(actions))
    write(warehouse, rows, missing_columns="keep", action_column="op")

    left = [(number, kept[0], 9, kept[1]) for number, kept in enumerate(REPLAYS.values()) if kept]
    assert sorted(read(warehouse)) == [*left, stored[-1]]


def test_a_replay_whose_inserts_do_not_look_cannot_keep(warehouse: str) -> None:
    """Neither could be done as it is said."""
    create(warehouse, **{"write.upsert.enabled": "false"})
    rows = frame(id=[1], n=[9], op=["I"])
    with pytest.raises(InvalidInputError, match=r"write\.upsert\.enabled=true"):
        write(warehouse, rows, missing_columns="keep", action_column="op")


def test_a_part_of_a_column_is_refused_like_a_whole_one(warehouse: str) -> None:
    """At any depth; it can be made null, but it is not kept."""
    place = pa.struct([("city", pa.string()), ("zip", pa.string())])
    schema = pa.schema([("id", pa.int64()), ("at", place), ("past", pa.list_(place))])
    arctic.create_table("m.t", schema, primary_key=["id"], warehouse=warehouse)
    less = pa.struct([("city", pa.string())])
    rows = pa.table({"id": [1], "at": pa.array([{"city": "Rome"}], less)})
    rows = rows.append_column("past", pa.array([[{"city": "Bern"}]], pa.list_(less)))
    for options in ({}, {"missing_columns": "keep"}):
        with pytest.raises(InvalidInputError, match=r"lacks at\.zip, past\.element\.zip"):
            write(warehouse, rows, **options)
    write(warehouse, rows, missing_columns="null")

    found = arctic.read("m.t", columns=["at"], warehouse=warehouse).read_all().to_pylist()
    assert found == [{"at": {"city": "Rome", "zip": None}}]


def begin(warehouse: str, rows: pa.Table, **options: str) -> tuple[WriteJob, TaskResult]:
    """Write rows without a commit, in chunks of four."""
    given = {"path": "m.t", "warehouse": warehouse, "write-mode": "upsert", **KEEP, **options}
    job = begin_write(AskedWrite.of(given), rows.schema)
    target = replace(job.target, options=replace(job.target.options, chunk_rows=1))
    job = replace(job, work=replace(job.work, target=target))
    return job, write_task(job.work, rows.to_batches(), partition_id=0, task_id=0)


def test_chunks_are_filled_one_by_one(warehouse: str) -> None:
    """A key in two of them gets the same both times."""
    create(warehouse, (1, "eu", 1, "a"), (2, "us", 2, "b"))
    job, result = begin(warehouse, frame(id=[1, 2, 3, 1, 2, 3, 1], n=[1, 2, 3, 4, 5, 6, 7]))
    commit_write(job, [result])

    assert read(warehouse) == [(1, "eu", 7, "a"), (2, "us", 5, "b"), (3, None, 6, None)]


def overwrite(warehouse: str) -> None:
    """Replace the table by its own rows."""
    arctic.write(
        "m.t", arctic.read("m.t", warehouse=warehouse), mode="overwrite", warehouse=warehouse
    )


@pytest.mark.parametrize("partition_by", [[], ["region"]], ids=["one place", "moves"])
@pytest.mark.parametrize("last", [None, merge, overwrite], ids=["changes", "merge", "overwrite"])
def test_what_others_commit_meanwhile_is_kept_too(
    warehouse: str, last: Callable[[str], None] | None, partition_by: list[str]
) -> None:
    """The table is as if this write had begun after them."""
    stored: list[Row] = [(number, "eu", 1, "a") for number in range(1, 7)]
    create(warehouse, *stored, partition_by=partition_by)
    job, result = begin(warehouse, frame(id=[1, 2, 3, 4, 5, 7], n=[9] * 6))
    put(warehouse, (1, "us", 5, "x"), (7, "us", 5, "x"))
    keep(warehouse, id=[2], tags=[["x"]])
    write(warehouse, frame(id=[3, 4]), "delete")
    put(warehouse, (4, "ap", 5, None))
    if last is not None:
        last(warehouse)
    commit_write(job, [result])

    expected = [(1, "us", 9, "x"), (2, "eu", 9, "x"), (3, None, 9, None), (4, "ap", 9, None)]
    assert read(warehouse) == [*expected, (5, "eu", 9, "a"), stored[-1], (7, "us", 9, "x")]


def test_a_change_in_every_round_of_the_commit_is_kept(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last of them counts, and back to what it was is a change as well."""
    create(warehouse, (1, "eu", 1, "a"), (2, "us", 2, "b"))
    job, result = begin(warehouse, frame(id=[1, 2], n=[9, 9]))
    tags = iter(["x", "y", "a"])

    def locate_then_change(opened: Any, **arguments: Any) -> Any:
        found = locate_rows(opened, **arguments)
        tag = next(tags, None)
        if tag is not None:
            put(warehouse, (1, "eu", 1, tag))
        return found

    put(warehouse, (2, "ap", 1, "z"))
    monkeypatch.setattr(looked_up, "locate_rows", locate_then_change)
    commit_write(job, [result])

    assert read(warehouse) == [(1, "eu", 9, "a"), (2, "ap", 9, "z")]


def test_a_merge_meanwhile_has_nothing_written_again(warehouse: str) -> None:
    """It changes where rows are, and none of them; the files of two upserts stay two."""
    create(warehouse, (1, "eu", 1, None))
    rows = frame(id=[1], n=[9], tags=[["t"]])
    job, result = begin(warehouse, rows)
    merge(warehouse)
    commit_write(job, [result])

    files = arctic.read("m.t.files", warehouse=warehouse).read_all().to_pylist()
    assert sorted(file["kind"] for file in files) == ["B", "ED", "ED", "I", "I"]


def test_a_row_that_the_write_made_anew_takes_nothing_from_others(warehouse: str) -> None:
    """What they changed was deleted before it came."""
    create(warehouse, (1, "eu", 1, "a"), (2, "us", 2, "b"))
    rows = frame(id=[1, 1, 2], n=[9, 9, 9], op=["D", "I", "U"])
    job, result = begin(warehouse, rows, **{"action-column": "op"})
    put(warehouse, (1, "ap", 5, "x"), (2, "ap", 5, "x"))
    commit_write(job, [result])

    assert read(warehouse) == [(1, None, 9, None), (2, "ap", 9, "x")]


def test_a_column_that_is_added_meanwhile_is_a_conflict(warehouse: str) -> None:
    """The write cannot keep a value that it has no column for."""
    create(warehouse, (1, "eu", 1, "a"))
    job, result = begin(warehouse, frame(id=[1], n=[9]))
    arctic.evolve_schema("m.t", add={"late": pa.int64()}, warehouse=warehouse)
    keep(warehouse, id=[1], late=[5])
    with pytest.raises(ConflictError, match="'late' was added"):
        commit_write(job, [result])

    found = arctic.read("m.t", columns=["n", "late"], warehouse=warehouse).read_all().to_pylist()
    assert found == [{"n": 1, "late": 5}]
    listed = arctic.read("m.t.files", warehouse=warehouse).read_all().num_rows
    assert len(list(Path(warehouse).rglob("*.parquet"))) == listed


def test_writers_of_different_columns_lose_none(warehouse: str) -> None:
    """Each column has the last value of the one who writes it, whoever commits when."""
    names = ["a", "b", "c"]
    schema = pa.schema([pa.field("id", pa.int64()), *((name, pa.int64()) for name in names)])
    arctic.create_table("m.t", schema, primary_key=["id"], warehouse=warehouse)
    failures: list[BaseException] = []

    def fill(name: str) -> None:
        try:
            for number in range(4):
                rows = pa.table({"id": [0, 1, number % 3], name: [number] * 3})
                arctic.write("m.t", rows, options=KEEP, warehouse=warehouse)
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            failures.append(error)

    threads = [threading.Thread(target=fill, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    merge(warehouse)
    for thread in threads:
        thread.join()

    assert not failures
    rows = arctic.read("m.t", warehouse=warehouse).read_all().to_pylist()
    found = {row["id"]: {row[name] for name in names} for row in rows}
    assert found == {0: {3}, 1: {3}, 2: {2}}


def test_rows_go_to_no_other_table_of_the_name(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it was dropped and made anew between the first look of a commit and the next."""
    create(warehouse, (1, "eu", 1, "a"))
    options = {"path": "m.t", "warehouse": warehouse, "write-mode": "upsert", **KEEP}
    rows = frame(id=[1], n=[2])
    job = begin_write(AskedWrite.of(options), rows.schema)
    results = [write_task(job.work, rows.to_batches(), partition_id=0, task_id=0)]
    look = looked_up._look

    def made_anew(*arguments: Any, **named: Any) -> Any:
        monkeypatch.undo()
        arctic.drop_table("m.t", warehouse=warehouse)
        create(warehouse)
        return look(*arguments, **named)

    monkeypatch.setattr(looked_up, "_look", made_anew)
    with pytest.raises(ConflictError, match="dropped and created again"):
        commit_write(job, results)

    assert read(warehouse) == []
