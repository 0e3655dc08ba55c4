"""Deletes, updates and merges beside upserts and every kind of optimizing."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import ConflictError
from arctic.job.edit import commit_edit
from arctic.job.edit.edit_report import EditReport
from tests.job.edit.rows import LAYOUTS, ROWS, SCHEMA, ids_of, make, rows_of

KEYED = [name for name in LAYOUTS if "no key" not in name]
COLUMNS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])
Model = dict[int, int]


@pytest.mark.parametrize("layout", KEYED)
def test_whoever_moves_rows_to_other_files_is_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    """Not once: what was read by then is there still, under the same keys."""
    table = make(tmp_path, layout, merged=True)
    commit = commit_edit.__dict__["commit_append"]

    def late(*arguments: Any, **named: Any) -> Any:
        other = arctic.open_table("m.t", warehouse=str(tmp_path))
        other.optimize(type="full")
        other.expire(options={"change.data.ttl.minutes": "0", "snapshot.keep.duration": "1 h"})
        return commit(*arguments, **named)

    monkeypatch.setattr(commit_edit, "commit_append", late)
    assert table.update("n >= 4", set={"n": "n + 1"}).attempts == 1
    assert table.delete("n = 5").attempts == 1
    source = pa.Table.from_pylist([{**ROWS[1], "n": 7}, {**ROWS[3], "n": 8}], SCHEMA)
    merge = table.merge(source, on="id").when_matched_update(set={"n": "target.id + source.n"})
    assert merge.when_not_matched_insert_all().execute().attempts == 1

    found = {row["id"]: row["n"] for row in rows_of(table)}
    assert found == {1: 1, 2: 9, 3: 3, 4: 8, 5: 6}


def test_rows_that_others_hide_or_change_are_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An overwrite and a delete of partitions are commits of base too, and no optimizing."""
    changes: list[Callable[[arctic.Table], object]] = [
        lambda other: other.write(pa.Table.from_pylist(ROWS[2:], SCHEMA), mode="overwrite"),
        lambda other: other.delete("city = 'Rome'"),
        lambda other: other.write(pa.Table.from_pylist(ROWS[:1], SCHEMA), mode="upsert"),
    ]
    table = make(tmp_path, "moving", merged=True)
    commit = commit_edit.__dict__["commit_append"]

    def late(*arguments: Any, **named: Any) -> Any:
        if changes:
            changes.pop(0)(arctic.open_table("m.t", warehouse=str(tmp_path)))
        return commit(*arguments, **named)

    monkeypatch.setattr(commit_edit, "commit_append", late)
    assert table.update("id > 0", set={"x": "0"}).attempts == 4
    assert ids_of(table) == [1, 3, 5]
    assert [row["x"] for row in rows_of(table)] == [0, 0, 0]


def _rows(values: Model) -> pa.Table:
    return pa.table({"id": list(values), "n": list(values.values())}, schema=COLUMNS)


def _update(table: arctic.Table, number: int) -> EditReport:
    return table.update("n < 50", set={"n": f"n + {number % 5}"})


def _updated(model: Model, number: int) -> None:
    model.update({key: n + number % 5 for key, n in model.items() if n < 50})


def _delete(table: arctic.Table, number: int) -> EditReport:
    return table.delete(f"n % 7 = {number % 7}")


def _deleted(model: Model, number: int) -> None:
    for key in [key for key, n in model.items() if n % 7 == number % 7]:
        del model[key]


def _merge(table: arctic.Table, number: int) -> EditReport:
    source = _rows({number % 30: 1, (number + 7) % 30: 2})
    merge = table.merge(source, on="id").when_matched_update(set={"n": "target.n + source.n"})
    return merge.when_not_matched_insert_all().execute()


def _merged(model: Model, number: int) -> None:
    for key, n in ((number % 30, 1), ((number + 7) % 30, 2)):
        model[key] = model.get(key, 0) + n


EDITS = ((_update, _updated), (_delete, _deleted), (_merge, _merged))


def _upserts(warehouse: str) -> dict[int | None, Callable[[Model], None]]:
    """Upsert a few rows and optimize, over and over; return what each snapshot did."""
    table, draw = arctic.open_table("m.t", warehouse=warehouse), random.Random(1)
    done: dict[int | None, Callable[[Model], None]] = {}
    for number in range(15):
        rows = {draw.randrange(30): draw.randrange(100) for _ in range(3)}
        done[table.write(_rows(rows), mode="upsert").snapshot_id] = partial(_put, rows)
        table.optimize(type=("minor", "major", "full")[number % 3])
    return done


def _put(rows: Model, model: Model) -> None:
    model.update(rows)


def test_what_lands_is_as_if_it_ran_alone(tmp_path: Path) -> None:
    """Each commit after the other, in the order of their numbers, or a conflict and nothing."""
    table = arctic.create_table("m.t", COLUMNS, primary_key="id", warehouse=str(tmp_path))
    model = {number: number for number in range(20)}
    table.write(_rows(model), mode="upsert")
    done: dict[int | None, Callable[[Model], None]] = {}
    number = alone = 0
    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(_upserts, str(tmp_path))
        while alone < len(EDITS):
            alone += beside.done()
            edit, same = EDITS[number % len(EDITS)]
            try:
                done[edit(table, number).snapshot_id] = partial(_apply, same, number)
            except ConflictError:
                assert not alone
            number += 1
    done |= beside.result()

    order = sorted(table.refresh().inspect("snapshots").to_pylist(), key=_sequence)
    for each in order:
        if each["snapshot_id"] in done:
            done[each["snapshot_id"]](model)
    assert {row["id"]: row["n"] for row in rows_of(table)} == model


def _apply(same: Callable[[Model, int], None], number: int, model: Model) -> None:
    same(model, number)


def _sequence(snapshot: dict[str, Any]) -> int:
    return int(snapshot["sequence_number"])
