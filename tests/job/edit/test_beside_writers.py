"""Commands beside writers: only who changes what a command has read is in its way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.job.edit import commit_edit, delete_job
from arctic.job.edit.edit_report import EditReport
from arctic.job.write.beside import changes_beside
from arctic.job.write.stored_rows import buried_rows
from tests.job.edit.rows import LAYOUTS, ROWS, SCHEMA, make, rows_of

Command = Callable[[arctic.Table], EditReport]
Other = Callable[[arctic.Table], object]
KEYED = [name for name in LAYOUTS if "no key" not in name]
KEYLESS = [name for name in LAYOUTS if "no key" in name]


def _row(number: int, **changed: Any) -> dict[str, Any]:
    stored = {row["id"]: row for row in ROWS}
    return {**stored.get(number, {"id": number, "city": "Rome", "n": 0, "x": 0.0}), **changed}


def _put(*rows: dict[str, Any]) -> Other:
    return lambda table: table.write(pa.Table.from_pylist(list(rows), SCHEMA), mode="upsert")


def _append(*rows: dict[str, Any]) -> Other:
    return lambda table: table.write(pa.Table.from_pylist(list(rows), SCHEMA), mode="append")


def _gone(where: str) -> Other:
    return lambda table: table.delete(where)


def _merge(on: str, *ids: int, by_source: bool = False, condition: str | None = None) -> Command:
    def run(table: arctic.Table) -> EditReport:
        source = pa.Table.from_pylist([_row(number, n=100) for number in ids], SCHEMA)
        merge = table.merge(source, on=on)
        merge = merge.when_matched_update(
            set={"n": "coalesce(target.n, 0) + source.n"}, condition=condition
        )
        if by_source:
            merge = merge.when_not_matched_by_source_update(
                set={"n": "-1"}, condition="target.n > 3"
            )
        return merge.when_not_matched_insert_all().execute()

    return run


def _update(where: str | None, **values: str) -> Command:
    return lambda table: table.update(where, set=values)


def _delete(where: str) -> Command:
    return lambda table: table.delete(where)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A command, what another one does between its reading and its commit, and who gives way."""

    id: str
    command: Command
    other: Other
    attempts: int


CASES = (
    Case(id="other row", command=_update("n >= 4", n="n + 1"), other=_put(_row(1)), attempts=1),
    Case(id="new row", command=_update("n >= 4", n="n + 1"), other=_put(_row(9)), attempts=1),
    Case(id="its row", command=_update("n >= 4", n="n + 1"), other=_put(_row(4)), attempts=2),
    Case(
        id="its row goes from it",
        command=_update("n >= 4", n="n + 1"),
        other=_put(_row(4, n=0)),
        attempts=2,
    ),
    Case(
        id="a row comes to it",
        command=_update("n >= 4", n="n + 1"),
        other=_put(_row(1, n=7)),
        attempts=2,
    ),
    Case(id="a new row for it", command=_delete("n >= 4"), other=_append(_row(9, n=7)), attempts=2),
    Case(id="its row is gone", command=_delete("n >= 4"), other=_gone("id = 5"), attempts=2),
    Case(id="another is gone", command=_delete("n >= 4"), other=_gone("id = 1"), attempts=1),
    Case(id="SQL", command=_delete("n % 2 = 1"), other=_put(_row(9, n=2)), attempts=1),
    Case(id="SQL, seen", command=_delete("n % 2 = 1"), other=_put(_row(9, n=3)), attempts=2),
    Case(id="every row", command=_update(None, x="0"), other=_put(_row(9)), attempts=2),
    Case(id="a key moves", command=_update("id = 5", id="8"), other=_put(_row(9)), attempts=1),
    Case(id="its old key", command=_update("id = 5", id="8"), other=_put(_row(5)), attempts=2),
    Case(id="merge", command=_merge("id", 1, 8), other=_put(_row(2)), attempts=1),
    Case(id="merge, its row", command=_merge("id", 1, 8), other=_put(_row(1, n=3)), attempts=2),
    Case(id="merge, its new row", command=_merge("id", 1, 8), other=_put(_row(8)), attempts=2),
    Case(
        id="merge, a row that it leaves",
        command=_merge("id", 1, 8, condition="target.n > 3"),
        other=_gone("id = 1"),
        attempts=2,
    ),
    Case(
        id="merge on more",
        command=_merge("target.city = source.city and target.id = source.id", 1, 8),
        other=_put(_row(5)),
        attempts=1,
    ),
    Case(
        id="merge on more, its row",
        command=_merge("target.city = source.city and target.id = source.id", 1, 8),
        other=_gone("id = 1"),
        attempts=2,
    ),
    Case(
        id="merge on more, a row comes",
        command=_merge("target.city = source.city and target.id + 5 = source.id", 8),
        other=_put(_row(3, city="Rome")),
        attempts=2,
    ),
    Case(
        id="merge by source",
        command=_merge("id", 1, by_source=True),
        other=_put(_row(9)),
        attempts=2,
    ),
    Case(
        id="merge by source, it goes",
        command=_merge("id", 1, by_source=True),
        other=_gone("id = 3"),
        attempts=1,
    ),
)


def _late(
    monkeypatch: pytest.MonkeyPatch, folder: Path, module: Any, name: str, others: list[Other]
) -> None:
    """Have others commit right before a commit, one before each."""
    commit = module.__dict__[name]

    def late(*arguments: Any, **named: Any) -> Any:
        if others:
            monkeypatch.setattr(module, name, commit)
            others.pop(0)(arctic.open_table("m.t", warehouse=str(folder)))
            monkeypatch.setattr(module, name, late)
        return commit(*arguments, **named)

    monkeypatch.setattr(module, name, late)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_command_gives_way_to_who_changes_what_it_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    """And to nobody else; the rows are those of running after the other either way."""
    layout = KEYED[CASES.index(case) % len(KEYED)]
    alone = make(tmp_path / "alone", layout, merged=True)
    case.other(alone)
    case.command(alone)

    table = make(tmp_path / "beside", layout, merged=True)
    _late(monkeypatch, tmp_path / "beside", commit_edit, "commit_append", [case.other])
    report = case.command(table)

    assert report.attempts == case.attempts
    assert rows_of(table) == rows_of(alone)


@pytest.mark.parametrize(
    ("command", "other", "attempts"),
    [
        (_update("n >= 4", n="n + 1"), _put(_row(1, n=7)), 1),
        (_update("n >= 4", n="n + 1"), _put(_row(4, n=9)), 2),
        (_delete("n >= 4"), _append(_row(9, n=7)), 1),
        (_delete("n >= 4"), _put(_row(5, n=1)), 2),
        (_merge("id", 1, by_source=True), _put(_row(9, n=7)), 1),
        (_merge("id", 1, 8, condition="target.n > 3"), _put(_row(1, n=9)), 1),
        (_merge("id", 1, 8), _put(_row(8, n=1)), 2),
    ],
    ids=["comes", "its row", "appended", "its row gone", "by source", "left", "its new row"],
)
def test_the_weaker_level_looks_only_at_rows_that_a_command_writes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: Command,
    other: Other,
    attempts: int,
) -> None:
    """Where no row is written by both, the command is as if the other had come after it."""
    level = {"write.isolation-level": "snapshot"}
    alone = make(tmp_path / "alone", "keyed", merged=True)
    for each in (command, other) if attempts == 1 else (other, command):
        each(alone)

    table = make(tmp_path / "beside", "keyed", merged=True).set_properties(level)
    _late(monkeypatch, tmp_path / "beside", commit_edit, "commit_append", [other])
    report = command(table)

    assert report.attempts == attempts
    assert rows_of(table) == rows_of(alone)


@pytest.mark.parametrize(
    ("other", "attempts"),
    [
        (_update("id = 1", n="n + 1"), 2),
        (_put(_row(9)), 2),
        (_put(_row(2, city="Rome")), 2),
        (_put(_row(1, city="Oslo")), 1),
        (_put(_row(9, city="Oslo")), 1),
        (_gone("id = 1"), 1),
        (lambda table: table.optimize(type="full"), 1),
        (_delete("city = 'Rome'"), 2),
    ],
    ids=["update", "comes", "moves in", "moves out", "other", "goes", "optimized", "gone already"],
)
@pytest.mark.parametrize("merged", [True, False])
def test_rows_that_come_to_a_partition_that_goes_by_metadata_go_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: Other, attempts: int, *, merged: bool
) -> None:
    """They lie in the change store, on top of it: an update would bring back a row that is gone."""
    alone, beside = (make(tmp_path / name, "moving", merged=True) for name in ("alone", "beside"))
    if merged:
        beside.optimize(type="full")
    other(alone)
    alone.delete("city = 'Rome'")

    _late(monkeypatch, tmp_path / "beside", delete_job, "commit_removal", [other])
    report = beside.delete("city = 'Rome'")

    assert (report.attempts, report.reads_table) == (attempts, False)
    assert rows_of(beside) == rows_of(alone)


def test_a_command_of_many_keys_holds_those_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds the same ones."""
    monkeypatch.setattr(changes_beside, "_KEPT_KEYS", 0)
    table = make(tmp_path, "keyed")
    others = [_put(_row(1)), _put(_row(9)), _put(_row(4, n=6))]
    _late(monkeypatch, tmp_path, commit_edit, "commit_append", others)

    assert table.update("n >= 4", set={"n": "n + 1"}).attempts == 1
    assert table.update("n >= 5", set={"n": "n + 1"}).attempts == 1
    assert table.update("n >= 5", set={"n": "n + 1"}).attempts == 2
    found = {row["id"]: row["n"] for row in rows_of(table)}
    assert found == {1: 1, 2: None, 3: 3, 4: 7, 5: 8, 9: 0}


def test_an_error_says_who_was_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The snapshot, the operation, the key, and what to do."""
    table = make(tmp_path, "keyed")
    _late(monkeypatch, tmp_path, commit_edit, "commit_append", [_put(_row(4))] * 20)

    with pytest.raises(arctic.ConflictError) as caught:
        table.update("n >= 4", set={"n": "n + 1"})
    last = max(
        table.refresh().inspect("snapshots").to_pylist(), key=lambda row: row["committed_at"]
    )
    for part in ("20 attempts", str(last["snapshot_id"]), "append", "key {'id': 4}", "try again"):
        assert part in str(caught.value)
    assert [row for row in rows_of(table) if row["n"] == 5] == [ROWS[4]]


def test_columns_that_come_meanwhile_are_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a command would write lacks them, so it is done again."""
    table = make(tmp_path, "keyed")

    def widen(other: arctic.Table) -> None:
        other.write(
            pa.table({"id": [9], "city": ["Rome"], "n": [9], "x": [0.0], "new": ["y"]}),
            mode="upsert",
            options={"merge-schema": "true"},
        )

    _late(monkeypatch, tmp_path, commit_edit, "commit_append", [widen])
    assert table.update("n >= 4", set={"n": "n + 1"}).attempts == 2
    assert {row["id"]: row["new"] for row in rows_of(table.refresh())}[9] == "y"


def test_columns_that_are_widened_meanwhile_are_a_conflict_with_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of the new type are not looked at as if they were of the old one."""
    table, number = make(tmp_path, "keyed"), 2**33

    def widen(other: arctic.Table) -> None:
        other.evolve_schema(widen={"n": pa.int64()})
        rows = {"id": [9], "city": ["Rome"], "n": [number], "x": [0.0]}
        other.write(pa.table(rows), mode="upsert")

    _late(monkeypatch, tmp_path, commit_edit, "commit_append", [widen])
    assert table.update("n >= 4", set={"n": "n + 1"}).attempts == 2
    assert {row["id"]: row["n"] for row in rows_of(table.refresh())}[9] == number + 1


def test_no_command_starves_beside_upserts_of_other_rows(tmp_path: Path) -> None:
    """Every one lands, and none of them loses what another did."""
    columns = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])
    table = arctic.create_table("m.t", columns, primary_key="id", warehouse=str(tmp_path))
    table.write(pa.table({"id": range(10), "n": [0] * 10}, schema=columns), mode="upsert")
    is_over = threading.Event()

    def upserts() -> None:
        other, number = arctic.open_table("m.t", warehouse=str(tmp_path)), 0
        while not is_over.is_set():
            number += 1
            rows = pa.table({"id": [100 + number % 7], "n": [number]}, schema=columns)
            other.write(rows, mode="upsert")

    beside = threading.Thread(target=upserts)
    beside.start()
    try:
        reports = [table.update("id < 10", set={"n": "n + 1"}) for _ in range(4)]
        reports.append(table.delete("id in (8, 9)"))
        source = pa.table({"id": [0, 11], "n": [10, 11]}, schema=columns)
        merge = table.merge(source, on="id").when_matched_update(set={"n": "target.n + source.n"})
        reports.append(merge.when_not_matched_insert_all().execute())
    finally:
        is_over.set()
        beside.join()

    assert {report.attempts for report in reports} == {1}
    found = {row["id"]: row["n"] for row in rows_of(table) if row["id"] < 100}
    assert found == {0: 14, **dict.fromkeys(range(1, 8), 4), 11: 11}


def _full(table: arctic.Table) -> object:
    return table.optimize(type="full")


def _more(*ids: int) -> Other:
    return _append(*(_row(number) for number in ids))


PLACED = (
    Case(id="optimized", command=_merge("id", 1, 8), other=_full, attempts=1),
    Case(id="appended", command=_merge("id", 1, 8), other=_more(2), attempts=1),
    Case(id="its row comes", command=_merge("id", 1, 8), other=_more(1), attempts=2),
    Case(id="its new row comes", command=_merge("id", 1, 8), other=_more(8), attempts=2),
    Case(id="by source", command=_merge("id", 1, by_source=True), other=_more(9), attempts=2),
    Case(id="a row goes", command=_merge("id", 1, 8), other=_gone("id = 1"), attempts=2),
)


@pytest.mark.parametrize("case", PLACED, ids=lambda case: case.id)
def test_rows_without_a_key_are_found_where_they_are_by_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    """Equal ones each by itself; who brings or takes rows that were looked at is given way to."""
    layout, tables = KEYLESS[PLACED.index(case) % len(KEYLESS)], []
    for name in ("alone", "beside"):
        table = make(tmp_path / name, layout)
        table.write(pa.Table.from_pylist([ROWS[0], ROWS[3]], SCHEMA))
        table.merge(pa.table({"id": [5]}), on="id").when_matched_delete().execute()
        tables.append(table)
    alone, beside = tables
    case.other(alone)
    case.command(alone)

    _late(monkeypatch, tmp_path / "beside", buried_rows, "commit_append", [case.other])
    report = case.command(beside)

    assert report.attempts == case.attempts
    assert rows_of(beside) == rows_of(alone)
    beside.optimize(type="full")
    assert rows_of(beside) == rows_of(alone)


@pytest.mark.parametrize(
    ("layout", "command"),
    [("no key", _update("n = 4", n="n + 1")), ("no key, partitions", _delete("n = 4 or id = 1"))],
    ids=["update", "delete"],
)
def test_an_edit_without_a_key_lands_however_often_its_files_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str, command: Command
) -> None:
    """The second attempt marks rows where they are, and does not begin again."""
    alone = make(tmp_path / "alone", layout)
    command(alone)
    table = make(tmp_path / "beside", layout)

    def moved(other: arctic.Table) -> None:
        other.write(pa.Table.from_pylist([_row(9)], SCHEMA))
        other.optimize(type="full")

    _late(monkeypatch, tmp_path / "beside", delete_job, "commit_removal", [moved])
    _late(monkeypatch, tmp_path / "beside", buried_rows, "commit_append", [moved] * 3)
    report = command(table)

    assert report.attempts == 2
    assert [row for row in rows_of(table) if row["id"] != 9] == rows_of(alone)
    assert len([row for row in rows_of(table) if row["id"] == 9]) == 4


@pytest.mark.parametrize(
    ("command", "attempts"),
    [
        (_update("n = 4", n="n + 1"), 2),
        (_delete("n = 4 and x > 0"), 2),
        (_update("n = 3", n="n + 1"), 1),
    ],
    ids=["update", "delete", "other rows"],
)
def test_rows_that_come_while_files_are_written_anew_are_judged_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command, attempts: int
) -> None:
    """They came before the command, which looks at them if its condition is true of them."""
    alone, beside = (make(tmp_path / name, "no key") for name in ("alone", "beside"))
    other = _append(_row(4, x=7.0), _row(9))
    other(alone)
    command(alone)

    _late(monkeypatch, tmp_path / "beside", delete_job, "commit_removal", [other])
    assert command(beside).attempts == attempts
    assert rows_of(beside) == rows_of(alone)
