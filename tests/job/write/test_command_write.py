"""What a command is told and what it looks up itself, before its rows are made."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.command_write import STORED, Command, begin_command, trusted_columns
from arctic.job.write.commit_write import commit_write
from arctic.job.write.write_task import write_task
from arctic.table.row_positions import ACTION

STABLE = {"write.upsert.cross-partition": "assume-stable"}
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("part", pa.string())])


def _table(folder: Path, properties: dict[str, str], *partition_by: str) -> arctic.Table:
    return arctic.create_table(
        "m.t",
        SCHEMA,
        primary_key=["id"],
        partition_by=list(partition_by),
        properties=properties,
        warehouse=str(folder),
    )


@pytest.mark.parametrize(
    ("properties", "partition_by", "trusted"),
    [
        pytest.param(STABLE, ["part", "bucket(4, id)"], ("part",), id="not the key"),
        pytest.param(STABLE, ["month(day)", "part"], ("day", "part"), id="what is computed with"),
        pytest.param(STABLE, ["bucket(4, id)"], (), id="the key says it"),
        pytest.param(STABLE, [], (), id="no partitions"),
        pytest.param({}, ["part"], (), id="rows are looked up"),
    ],
)
def test_columns_that_commands_tell_as_they_are_stored(
    tmp_path: Path, properties: dict[str, str], partition_by: list[str], trusted: tuple[str, ...]
) -> None:
    """Those that the key does not say, where nothing is looked up."""
    _table(tmp_path, properties, *partition_by)

    opened = AskedWrite.of({"path": "m.t", "warehouse": str(tmp_path)}).reference.open()

    assert trusted_columns(opened.table) == trusted


@pytest.mark.parametrize("rows", ["delete", "upsert", "actions"])
def test_rows_that_do_not_say_where_stored_ones_are_are_looked_up(
    tmp_path: Path, rows: str
) -> None:
    """Whatever the table vouches for, and nothing is looked up where they do."""
    _table(tmp_path, STABLE, "part")
    asked = AskedWrite.of({"path": "m.t", "warehouse": str(tmp_path)})
    incoming = SCHEMA.append(pa.field(ACTION, pa.string())) if rows == "actions" else SCHEMA
    found = {}
    for tells in (True, False):
        job = begin_command(asked, incoming, _command(rows, tells_places=tells), seen=())
        found[tells] = (job.locator is not None, job.assume_stable)

    assert found == {True: (False, True), False: (True, False)}


@pytest.mark.parametrize("rows", ["upsert", "actions"])
def test_rows_that_move_are_taken_from_where_they_say_that_they_are(
    tmp_path: Path, rows: str
) -> None:
    """Without a look at the table; new rows take nothing from anywhere."""
    table = _table(tmp_path, STABLE, "part")
    ids, parts = [1, 2, 3], ["x", None, "y"]
    table.write(_rows(ids, parts), mode="upsert")
    moved = _rows([1, 2, 3], ["y", "z", "y"]).append_column(
        f"{STORED}0", pa.array(["x", None, "y"])
    )
    kept = {1: "y", 2: "z", 3: "y"}
    if rows == "actions":
        more = pa.table(
            {"id": [3, 4], "part": ["y", "y"], f"{STORED}0": pa.array([None, None], pa.string())}
        )
        moved = pa.concat_tables([moved.slice(0, 2), more], promote_options="default")
        moved = moved.append_column(ACTION, pa.array(["U", "U", "D", "I"]))
        kept = {1: "y", 2: "z", 4: "y"}
    asked = AskedWrite.of({"path": "m.t", "warehouse": str(tmp_path)})
    job = begin_command(asked, moved.schema, _command(rows, tells_places=True), seen=())

    result = write_task(job.work, moved.to_batches(), partition_id=0, task_id=0)
    commit_write(job, [result])

    assert job.locator is None
    found = table.refresh().read().read_all().to_pylist()
    assert {row["id"]: row["part"] for row in found} == kept
    assert len(found) == len(kept)


def _command(rows: str, *, tells_places: bool) -> Command:
    return Command(
        name="MERGE",
        rows=rows,
        once="target",
        checks_inserts=False,
        is_blind=False,
        tells_places=tells_places,
    )


def _rows(ids: list[int], parts: list[str | None]) -> pa.Table:
    days = pa.nulls(len(ids), pa.date32())
    return pa.table({"id": ids, "day": days, "part": parts}, schema=SCHEMA)


def test_deletes_that_say_that_they_tell_must_tell(tmp_path: Path) -> None:
    """Keys alone do not say in which partition a row is."""
    _table(tmp_path, STABLE, "part")
    command = Command(
        name="DELETE",
        rows="delete",
        once=None,
        checks_inserts=False,
        is_blind=False,
        tells_places=True,
    )
    asked = AskedWrite.of({"path": "m.t", "warehouse": str(tmp_path)})

    with pytest.raises(InvalidInputError, match="part"):
        begin_command(asked, pa.schema([("id", pa.int64())]), command, seen=())
