"""Keys that a command names too often, or that it inserts although they are stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from arctic.errors import InvalidInputError
from arctic.writing.rows.actions import SPELLINGS
from arctic.writing.rows.key_count import KeyCount, RepeatedKeyError
from arctic.writing.write_request import KeyRule, WriteMode, WriteRequest
from arctic.writing.writer import check_key_owners
from tests.writing.local_table import SCHEMA, batch, begin, make_target, open_input

STORED = (7, 8)


def located(keys: pa.Table) -> pa.Table:
    """Find rows as a search in the table does."""
    ids = keys.column("id").to_pylist()
    return pa.table({"id": pa.array([each for each in ids if each in STORED], pa.int64())})


def counted(folder: Path, events: str, *, counts_all: bool = False, checks: bool = True) -> None:
    """Check events, as ``D7 I7 U1``."""
    rule = KeyRule(command="MERGE", counts_all=counts_all, checks_inserts=checks)
    count = KeyCount(rule, target=make_target(folder), locate=located)
    for event in events.split():
        rows = batch([{"id": int(event[1:]), "region": "r", "amount": 1, "note": "n"}], SCHEMA)
        count.add(rows, np.array([SPELLINGS[event[0]]]))
    count.check()


@pytest.mark.parametrize("events", ["", "U1 U2 D3", "D1 I1", "D7 D8 I7 I8 U1", "I1", "U7 D9 D9"])
def test_a_key_may_be_deleted_and_is_written_once(tmp_path: Path, events: str) -> None:
    """So keys can be swapped."""
    counted(tmp_path, events)


@pytest.mark.parametrize("events", ["U1 U1", "I1 U1", "D1 I1 I1"])
def test_a_key_that_is_written_twice_is_named(tmp_path: Path, events: str) -> None:
    """Whichever wins, a row would be lost."""
    with pytest.raises(RepeatedKeyError, match=r"several rows have the key \(id=1\)"):
        counted(tmp_path, events)


def test_every_row_counts_where_each_stands_for_one_of_the_source(tmp_path: Path) -> None:
    """What is deleted and upserted by two rows is not decided by their order."""
    counted(tmp_path, "D1 U2 D3", counts_all=True)
    with pytest.raises(RepeatedKeyError):
        counted(tmp_path, "D1 U1", counts_all=True)


def test_an_insert_of_a_stored_key_is_refused_unless_it_goes(tmp_path: Path) -> None:
    """Where it is not known to be new."""
    with pytest.raises(InvalidInputError, match=r"\(id=8\) is there already"):
        counted(tmp_path, "D7 I7 I8")
    counted(tmp_path, "D7 I7 I8", checks=False)


def test_rows_of_two_tasks_are_compared_before_the_commit(tmp_path: Path) -> None:
    """Few rows are written by the tasks that have them."""
    target = make_target(tmp_path)
    rule = KeyRule(command="MERGE", counts_all=True, checks_inserts=False)
    request = WriteRequest(mode=WriteMode.UPSERT, key_rule=rule)
    results = []
    for number, ids in enumerate([(1, 2), (3, 1)]):
        writer = begin(target, SCHEMA, request, partition_id=number)
        rows = [{"id": each, "region": "r", "amount": 1, "note": "n"} for each in ids]
        writer.write(batch(rows))
        results.append(writer.close())

    with pytest.raises(RepeatedKeyError, match="id=1"):
        check_key_owners(
            results,
            table=target.table,
            request=request,
            assume_stable=False,
            open_input=open_input,
        )
    check_key_owners(
        results[:1], table=target.table, request=request, assume_stable=False, open_input=open_input
    )
