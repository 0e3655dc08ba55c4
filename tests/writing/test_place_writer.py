"""Dead rows travel packed, each once, whatever task met them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from arctic.writing.place_writer import dead_of, packed, unpacked
from arctic.writing.target import TaskId, TaskResult

POSITIONS = st.lists(st.integers(0, 2**40), min_size=1, max_size=50)


def result(number: int, **dead: list[int]) -> TaskResult:
    """Return what a task says of dead rows by file."""
    told = {path: packed(np.array(rows, np.int64)) for path, rows in dead.items()}
    task = TaskId(partition_id=number, task_id=0, operation_id=0)
    return TaskResult(task=task, files=(), rows_in=0, inserts=0, deletes=0, dead=told)


@given(st.lists(POSITIONS, min_size=1, max_size=4))
def test_what_is_packed_comes_back_once(pieces: list[list[int]]) -> None:
    """In order, of all pieces together."""
    texts = [packed(np.array(piece, np.int64)) for piece in pieces]

    assert unpacked(texts).tolist() == sorted({row for piece in pieces for row in piece})


def test_rows_of_a_file_are_gathered_from_all_tasks() -> None:
    """A row of which two tasks tell is dead once; files come in the order of their paths."""
    dead = dead_of([result(0, b=[9, 2], a=[1]), result(1, b=[2, 3]), result(2)])

    assert {path: rows.tolist() for path, rows in dead.items()} == {"a": [1], "b": [2, 3, 9]}
    assert list(dead) == ["a", "b"]
    assert dead_of([]) == {}


def test_neighbours_take_next_to_nothing() -> None:
    """A delete of a million rows travels to the driver."""
    assert len(packed(np.arange(1_000_000))) < 50_000
