"""Several writes whose rows become visible together, on the embedded catalog."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from threading import Thread, current_thread
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

import arctic
from arctic.errors import InvalidInputError, NotFoundError
from arctic.iceberg.commits import commit_loop
from arctic.iceberg.commits.asking import joint_commits, sending
from arctic.iceberg.commits.asking.joint_commits import commit_jointly
from arctic.iceberg.commits.asking.sending import Outcome, sent
from arctic.iceberg.commits.asking.staged_snapshot import StagedSnapshot

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())])
NOW = {"clean-orphan-file.min-existing-time-minutes": "0"}
NAMES = ("db.a", "db.b", "db.c")


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """Make three tables of one row; the rows of the last one move between partitions."""
    for name in NAMES:
        table = arctic.create_table(
            name,
            SCHEMA,
            primary_key=["id"],
            partition_by=["n"] if name == NAMES[-1] else [],
            warehouse=str(tmp_path),
        )
        table.write(rows(1))
    return str(tmp_path)


def rows(*numbers: int) -> pa.Table:
    """Return rows of keys."""
    return pa.table({"id": numbers, "n": [number % 2 for number in numbers]}, schema=SCHEMA)


def write(warehouse: str, name: str, number: int) -> None:
    """Upsert a row."""
    arctic.open_table(name, warehouse=warehouse).write(rows(number), mode="upsert")


def counts(warehouse: str) -> list[int]:
    """Count the rows of each table, as somebody else sees it now."""
    found: list[int] = []
    names = partial(map, lambda name: arctic.open_table(name, warehouse=warehouse).count(), NAMES)
    reader = Thread(target=lambda: found.extend(names()))
    reader.start()
    reader.join()
    return found


def files(warehouse: str) -> set[Path]:
    """Return all files, but those of the catalog itself."""
    found = (each for each in Path(warehouse).rglob("*") if each.is_file())
    return {each for each in found if "catalog.db" not in each.name}


def test_nobody_sees_one_without_the_others(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not while they are written, nor while the catalog is asked."""
    seen: list[list[int]] = []

    def watched(attempts: list[StagedSnapshot]) -> list[Outcome]:
        seen.append(counts(warehouse))
        return sent(attempts)

    def seen_and_written(name: str) -> None:
        seen.append(counts(warehouse))
        write(warehouse, name, 2)

    monkeypatch.setattr(joint_commits, "sent", watched)
    commit_jointly([partial(seen_and_written, name) for name in NAMES])
    assert seen == [[1, 1, 1]] * 4
    assert counts(warehouse) == [2, 2, 2]


def test_one_that_fails_leaves_nothing_of_any(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever it is; the files of the others are gone, and nobody tries again."""
    asked: list[str] = []

    def failing() -> None:
        raise InvalidInputError("no")

    def ask_for(attempt: StagedSnapshot) -> None:
        asked.append(attempt.table.name()[1])
        sending.ask_for(attempt)

    monkeypatch.setattr(commit_loop, "ask_for", ask_for)
    before = files(warehouse)
    for names, place in product((NAMES, NAMES[::-1]), range(3)):
        works: list[Callable[[], None]] = [partial(write, warehouse, name, 2) for name in names]
        works[place] = failing
        with pytest.raises(InvalidInputError, match="no"):
            commit_jointly(works)
        assert counts(warehouse) == [1, 1, 1]
        assert files(warehouse) == before
    assert asked == ["a_change_", "a_change_", "b_change_", "c_change_", "c_change_", "b_change_"]


def test_one_that_fails_after_a_lost_race_leaves_nothing_of_any(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody sees the others without it."""

    def outrun(attempts: list[StagedSnapshot]) -> list[Outcome]:
        other = Thread(target=arctic.drop_table, args=("db.b",), kwargs={"warehouse": warehouse})
        other.start()
        other.join()
        return sent(attempts)

    monkeypatch.setattr(joint_commits, "sent", outrun)
    with pytest.raises(NotFoundError, match="not found"):
        commit_jointly([partial(write, warehouse, name, 2) for name in NAMES])
    for name in ("db.a", "db.c"):
        assert arctic.open_table(name, warehouse=warehouse).count() == 1


def test_a_race_of_one_leaves_nothing_of_what_lost(warehouse: str) -> None:
    """Somebody commits to the first table while the second one is written."""

    def outrun() -> None:
        other = Thread(target=write, args=(warehouse, "db.a", 7))
        other.start()
        other.join()
        write(warehouse, "db.b", 2)

    commit_jointly([partial(write, warehouse, "db.a", 2), outrun])
    assert counts(warehouse) == [3, 2, 1]
    table = arctic.open_table("db.b", warehouse=warehouse)
    assert len(table.history()) == len(set(table.history().column("snapshot_id").to_pylist()))
    for name in NAMES:
        cleaned = arctic.open_table(name, warehouse=warehouse).clean_orphans(options=NOW)
        assert cleaned.items == ()


def test_somebody_who_commits_to_one_table_all_the_time_keeps_nobody_out(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit of theirs for each attempt that is built of another table, whichever is theirs."""
    built: list[str] = []
    made: list[int] = []

    def ask_for(attempt: StagedSnapshot) -> None:
        name = attempt.table.name()[1].removesuffix("_change_")
        if current_thread().name == "arctic-write":
            built.append(name)
            if name != busy and name in "abc":
                made.append(100 + len(made))
                other = Thread(target=write, args=(warehouse, f"db.{busy}", made[-1]))
                other.start()
                other.join()
        sending.ask_for(attempt)

    monkeypatch.setattr(commit_loop, "ask_for", ask_for)
    for number, busy in enumerate("abc", start=2):
        built.clear()
        names = sorted(NAMES, key=lambda name: name != f"db.{busy}")
        commit_jointly([partial(write, warehouse, name, number) for name in names])
        assert built == [*(name.removeprefix("db.") for name in names), busy]
    assert sum(counts(warehouse)) == 3 * 4 + len(made)
    for name in NAMES:
        table = arctic.open_table(name, warehouse=warehouse)
        ids = table.read().read_all()["id"].to_pylist()
        assert len(ids) == len(set(ids))
        assert table.clean_orphans(options=NOW).items == ()


def test_one_whose_batch_has_landed_meanwhile_ends_and_the_others_go_on(warehouse: str) -> None:
    """Nothing is left of what was written of them before."""
    batch = {"stream-query-id": "q", "stream-batch-id": "1"}

    def write_batch(name: str) -> None:
        table = arctic.open_table(name, warehouse=warehouse)
        table.write(rows(2), mode="upsert", options=batch)

    def outrun() -> None:
        other = Thread(target=write_batch, args=("db.a",))
        other.start()
        other.join()
        write_batch("db.b")

    for _ in range(2):
        commit_jointly([partial(write_batch, "db.a"), outrun, partial(write_batch, "db.c")])
        assert counts(warehouse) == [2, 2, 2]
        for name in NAMES:
            cleaned = arctic.open_table(name, warehouse=warehouse).clean_orphans(options=NOW)
            assert cleaned.items == ()


def test_waits_of_those_who_lost_do_not_add_up(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them waits, as long as its table says: what the others do meanwhile would be old."""
    waited: list[float] = []
    monkeypatch.setattr(joint_commits, "time", SimpleNamespace(sleep=waited.append))
    lost = [CommitFailedException("lost")] * len(NAMES)
    answers = [lost, lost, lost]

    def refused(attempts: list[StagedSnapshot]) -> list[Outcome]:
        return list(answers.pop()) if answers else sent(attempts)

    monkeypatch.setattr(joint_commits, "sent", refused)
    commit_jointly([partial(write, warehouse, name, 2) for name in NAMES])
    # The first race costs a look, and no wait.
    assert len(waited) == 2
    assert counts(warehouse) == [2, 2, 2]


def test_an_answer_that_did_not_come_is_looked_for(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All have landed, and none lands twice."""
    asked: list[int] = []

    def deaf(attempts: list[StagedSnapshot]) -> list[Outcome]:
        asked.append(len(attempts))
        assert sent(attempts) == [None] * len(attempts)
        return [CommitStateUnknownException("no answer")] * len(attempts)

    monkeypatch.setattr(joint_commits, "sent", deaf)
    commit_jointly([partial(write, warehouse, name, 2) for name in NAMES])
    assert asked == [3]
    assert counts(warehouse) == [2, 2, 2]


def test_an_interrupt_while_the_catalog_is_asked_keeps_what_may_have_landed(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that landed stay whole."""

    def interrupted(attempts: list[StagedSnapshot]) -> list[Outcome]:
        assert sent(attempts) == [None] * len(attempts)
        raise KeyboardInterrupt

    monkeypatch.setattr(joint_commits, "sent", interrupted)
    with pytest.raises(KeyboardInterrupt):
        commit_jointly([partial(write, warehouse, name, 2) for name in NAMES])
    assert counts(warehouse) == [2, 2, 2]


def test_an_interrupt_before_all_were_told_keeps_what_has_landed(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was not told does not take its files for those of no snapshot."""

    def interrupted(write: object, outcome: Outcome, **how: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(joint_commits._Write, "go_on", interrupted)
    with pytest.raises(KeyboardInterrupt):
        commit_jointly([partial(write, warehouse, name, 2) for name in NAMES])
    assert counts(warehouse) == [2, 2, 2]


def test_writes_that_have_nothing_to_commit_wait_for_nobody(warehouse: str) -> None:
    """Nor does the only one."""
    commit_jointly([lambda: None, partial(write, warehouse, "db.a", 2), lambda: None])
    commit_jointly([partial(write, warehouse, "db.b", 2)])
    commit_jointly([])
    assert counts(warehouse) == [2, 2, 1]
