"""Rows without a key are changed by their place, on top of the state that they were read in."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.errors import ConflictError
from arctic.iceberg.filters.parse_filter import parse_filter
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.scan_job import scan_opened
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.command_write import Command, begin_command
from arctic.job.write.commit_write import commit_write
from arctic.job.write.write_job import WriteJob
from arctic.job.write.write_task import write_task
from arctic.table.row_positions import FILE, POSITION
from arctic.writing.target import TaskResult

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("part", pa.string())])
PLACED = Command(
    name="MERGE",
    rows="places",
    once=None,
    checks_inserts=False,
    is_blind=False,
    tells_places=True,
)
FILES = 3
ROWS = 5_000
"""Of a file: enough that a filter is read before the other columns."""


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> arctic.Table:
    """Of three files in two partitions, with rows deleted in one of them."""
    monkeypatch.setenv("ARCTIC_WAREHOUSE", str(tmp_path))
    made = arctic.create_table("m.t", SCHEMA, partition_by=["part"])
    for number in range(FILES):
        ids = list(range(ROWS * number, ROWS * (number + 1)))
        part = ["a" if number else "b"] * ROWS
        made.write(pa.table({"id": ids, "part": part}, schema=SCHEMA))
    _change("id = 4", "D")
    return made


def _change(where: str, action: str, *, tasks: int = 1) -> None:
    job, results = _begun(where, action, tasks=tasks)
    commit_write(job, results)


def _begun(where: str, action: str, *, tasks: int) -> tuple[WriteJob, Sequence[TaskResult]]:
    """Delete rows, or give them another key and partition."""
    asked = AskedRead.of({"path": "m.t"})
    opened = asked.reference.open()
    found = scan_opened(
        opened,
        asked,
        columns=["id", "part", FILE, POSITION],
        row_filter=parse_filter(where, opened),
    ).table()
    count = found.num_rows
    ids = [None if action == "D" else -number for number in found["id"].to_pylist()]
    frame = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "part": pa.array([None if action == "D" else "c"] * count, pa.string()),
            "_arctic_action": [action] * count,
            FILE: found[FILE],
            POSITION: found[POSITION],
        }
    )
    begun = begin_command(AskedWrite.of({"path": "m.t"}), frame.schema, PLACED, seen=[])
    job = pickle.loads(pickle.dumps(begun))
    size = -(-count // tasks)
    results = [
        write_task(
            job.work, frame.slice(task * size, size).to_batches(), partition_id=task, task_id=task
        )
        for task in range(tasks)
    ]
    return job, results


def _ids() -> set[int]:
    rows = arctic.read("m.t").read_all()["id"].to_pylist()
    assert len(set(rows)) == len(rows)
    return set(rows)


def _kinds() -> list[str]:
    return sorted(file["kind"] for file in arctic.read("m.t.files").read_all().to_pylist())


def test_rows_go_and_others_take_their_place(table: arctic.Table) -> None:
    """In one commit, by whatever tasks; rows that were dead before stay so."""
    _change("id < 7 or id > 14996", "U", tasks=3)

    assert _ids() == {*range(7, 14_997), -14_997, -14_998, -14_999, *(-n for n in range(7))} - {-4}
    last = table.inspect("snapshots").to_pylist()[-1]
    assert last["operation"] == "overwrite"
    assert _kinds() == ["B"] * (FILES + 3) + ["PD"] * 3
    arctic.optimize("m.t", type="full")
    assert len(_ids()) == FILES * ROWS - 1


def test_a_file_without_a_row_left_goes(table: arctic.Table) -> None:
    """Instead of being read for nothing."""
    _change(f"id >= {ROWS * 2} or id = 1", "D", tasks=2)

    assert _ids() == {*range(ROWS * 2)} - {1, 4}
    assert _kinds() == ["B"] * (FILES - 1) + ["PD"] * 2


@pytest.mark.parametrize("what", ["append", "delete", "marks"])
def test_no_other_row_comes_or_goes_between_reading_and_writing(
    table: arctic.Table, what: str
) -> None:
    """As long as nobody says which rows were read; nothing of the write is left."""
    job, results = _begun("id < 3", "U", tasks=1)
    if what == "append":
        table.write(pa.table({"id": [99_999], "part": ["a"]}, schema=SCHEMA))
    elif what == "delete":
        table.delete("id = 2")
    else:
        _change("id = 2", "D")
    before = _ids()

    with pytest.raises(ConflictError):
        commit_write(job, results)

    assert _ids() == before
    assert not any(Path(each.path.removeprefix("file://")).exists() for each in results[0].files)


@pytest.mark.parametrize("kind", ["full", "minor", "major"])
def test_rows_that_were_moved_are_found_again(table: arctic.Table, kind: str) -> None:
    """By all their values, in the files that came; other rows of those files stay."""
    job, results = _begun(f"id < 7 or id >= {ROWS * 3 - 2}", "U", tasks=2)
    table.optimize(type=kind)
    commit_write(job, results)

    dead = {*range(7), ROWS * 3 - 2, ROWS * 3 - 1}
    assert _ids() == {*range(ROWS * 3)} - dead | {-number for number in dead} - {-4}


def test_what_was_read_in_two_states_is_a_conflict(table: arctic.Table) -> None:
    """One and the same row could be taken twice."""
    job, results = _begun("id < 2", "D", tasks=1)
    table.optimize(type="full")
    _, later = _begun("id = 2", "D", tasks=1)
    moved = replace(results[0], dead={**results[0].dead, **later[0].dead})
    with pytest.raises(ConflictError, match="two states"):
        commit_write(job, [moved])
