"""Threads of one process that commit to one table: what one swap of metadata holds for all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

import arctic
from arctic.errors import ArcticError, CommitStateUnknownError, ConflictError
from arctic.iceberg.commits import commit
from arctic.iceberg.commits.commit import commit_append
from arctic.iceberg.commits.commit_loop import CommitResult
from arctic.iceberg.commits.commit_notes import BatchLandedError
from arctic.iceberg.commits.together.commit_together import WaitingCommit
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable
from arctic.retry import Patience, RetryPolicy, Turns
from arctic.table.commit_plan import AppendFiles
from arctic.table.files import FileKind
from arctic.table.streams.stream_batch import StreamBatch
from tests.iceberg.stores import change_of, local, make, reopened, row, written
from tests.processes import forked

Outcome = CommitResult | ArcticError | None


def committed_at_once(
    opened: OpenTable,
    plans: Sequence[AppendFiles],
    *,
    meanwhile: Callable[[], object] = lambda: None,
) -> list[Outcome]:
    """Commit each plan in a thread, once all wait in this order and something else was done."""

    def one(number: int) -> Outcome:
        while len(line.waiting) < number:
            time.sleep(0.001)
        try:
            return commit_append(reopened(opened), plans[number])
        except ArcticError as error:
            return error

    store = opened.base if opened.change is None else opened.change
    key, holder = commit._line_of(store, None), WaitingCommit(store, lambda *_: None)
    with ThreadPoolExecutor(len(plans)) as pool:
        with commit._LINES.turn(key, holder, most=1):
            line = commit._LINES._lines[key]
            running = [pool.submit(one, number) for number in range(len(plans))]
            while len(line.waiting) < len(plans):
                time.sleep(0.001)
            meanwhile()
        return [each.result() for each in running]


def plans_of(opened: OpenTable, count: int) -> list[AppendFiles]:
    """Return plans with a file each."""
    return [
        AppendFiles(files=written(opened, [row(number)], FileKind.INSERT))
        for number in range(count)
    ]


def counting_commits(
    monkeypatch: pytest.MonkeyPatch, *failures: Callable[[Callable[[], None]], None]
) -> list[int]:
    """Note how many snapshots each commit brings; the first go through these functions."""
    real, brought, left = Table._do_commit, [], list(failures)

    def do_commit(table: Table, **arguments: Any) -> None:
        updates = arguments["updates"]
        brought.append(sum(update.action == "add-snapshot" for update in updates))
        if left:
            left.pop(0)(lambda: real(table, **arguments))
        else:
            real(table, **arguments)

    monkeypatch.setattr(Table, "_do_commit", do_commit)
    monkeypatch.setattr(RetryPolicy, "wait_seconds", lambda *_: 0)
    return brought


def check_clean(store: Table) -> None:
    """See that the folder of metadata holds what snapshots need, and no more."""
    needed = {snapshot.manifest_list for snapshot in store.metadata.snapshots} | {
        manifest.manifest_path
        for snapshot in store.metadata.snapshots
        for manifest in snapshot.manifests(store.io)
    }
    found = (local(store.location()) / "metadata").glob("*.avro")
    assert {path.name for path in found} == {path.rsplit("/", 1)[1] for path in needed}


def test_those_that_wait_land_as_snapshots_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one swap, in the order in which they came, one on top of the other."""
    opened = make(tmp_path)
    plans = plans_of(opened, 5)
    brought = counting_commits(monkeypatch)

    found = committed_at_once(opened, plans)

    change = change_of(reopened(opened))
    assert brought == [5]
    assert [each.snapshot_id for each in change.metadata.snapshots] == [
        each.snapshot_id for each in found if isinstance(each, CommitResult)
    ]
    assert [each.sequence_number for each in found if isinstance(each, CommitResult)] == [
        each.sequence_number for each in change.metadata.snapshots
    ]
    assert [each.sequence_number for each in change.metadata.snapshots] == [1, 2, 3, 4, 5]
    parents = [each.parent_snapshot_id for each in change.metadata.snapshots]
    assert parents == [None, *(each.snapshot_id for each in change.metadata.snapshots[:-1])]
    assert [entry.snapshot_id for entry in change.metadata.snapshot_log] == [
        each.snapshot_id for each in change.metadata.snapshots
    ]
    check_clean(change)


def test_what_was_committed_while_they_waited_costs_no_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits has opened the table before the turn of another one ended."""
    opened = make(tmp_path)
    first, *plans = plans_of(opened, 4)
    brought = counting_commits(monkeypatch)

    def commit_first() -> None:
        other = reopened(opened)
        commit_append(other, replace(first, on_top_of=pin(other)))  # in no line

    found = committed_at_once(opened, plans, meanwhile=commit_first)

    assert all(isinstance(each, CommitResult) for each in found)
    assert brought == [1, 3]
    check_clean(change_of(reopened(opened)))


def test_a_table_without_a_key_commits_together_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its only store is what they wait for."""
    opened = make(tmp_path, key=())
    plans = [
        AppendFiles(files=written(opened, [row(number)], FileKind.BASE)) for number in range(3)
    ]
    brought = counting_commits(monkeypatch)
    assert all(isinstance(each, CommitResult) for each in committed_at_once(opened, plans))
    assert brought == [3]
    read = arctic.read("db.t", warehouse=str(tmp_path)).read_all()
    assert sorted(read["id"].to_pylist()) == [0, 1, 2]


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_one_that_refuses_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: int
) -> None:
    """A batch of a stream that has landed already does not land again, and holds nobody up."""
    opened = make(tmp_path)
    batch = StreamBatch(query_id="q", batch_id=1)
    first = written(opened, [row(9)], FileKind.INSERT)
    commit_append(opened, AppendFiles(files=first, batch=batch))
    plans = plans_of(opened, 3)
    plans[wrong] = AppendFiles(files=plans[wrong].files, batch=batch)
    brought = counting_commits(monkeypatch)

    found = committed_at_once(opened, plans)

    assert isinstance(found.pop(wrong), BatchLandedError)
    assert all(isinstance(each, CommitResult) for each in found)
    assert brought == [2]
    check_clean(change_of(reopened(opened)))


def test_the_same_batch_twice_lands_once(tmp_path: Path) -> None:
    """The second sees what the first is about to note."""
    opened = make(tmp_path)
    batch = StreamBatch(query_id="q", batch_id=1)
    plans = [AppendFiles(files=plan.files, batch=batch) for plan in plans_of(opened, 2)]
    first, second = committed_at_once(opened, plans)
    assert isinstance(first, CommitResult)
    assert isinstance(second, BatchLandedError)


def lose(real: Callable[[], None]) -> None:
    """Let somebody else be first."""
    raise CommitFailedException("lost")


def test_a_lost_race_is_run_again_by_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written for it is gone."""
    opened = make(tmp_path)
    plans = plans_of(opened, 3)
    brought = counting_commits(monkeypatch, lose, lose)
    assert all(isinstance(each, CommitResult) for each in committed_at_once(opened, plans))
    assert brought == [3, 3, 3]
    check_clean(change_of(reopened(opened)))


def test_where_others_always_win_each_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an error of its own, and nothing is left."""
    opened = make(tmp_path, commit__retry__num_retries="1")
    plans = plans_of(opened, 3)
    counting_commits(monkeypatch, *[lose] * 9)
    found = committed_at_once(opened, plans)
    assert all(isinstance(each, ConflictError) for each in found)
    assert len({id(each) for each in found}) == 3
    check_clean(change_of(reopened(opened)))


def test_a_lost_answer_is_looked_up_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have landed once, whatever the catalog said."""

    def answer_lost(real: Callable[[], None]) -> None:
        real()
        raise OSError("no answer")

    opened = make(tmp_path)
    plans = plans_of(opened, 3)
    brought = counting_commits(monkeypatch, answer_lost)
    found = committed_at_once(opened, plans)
    change = change_of(reopened(opened))
    assert brought == [3]
    assert [each.snapshot_id for each in change.metadata.snapshots] == [
        each.snapshot_id for each in found if isinstance(each, CommitResult)
    ]


def test_where_nobody_knows_each_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And every file stays."""

    def broken(real: Callable[[], None]) -> None:
        raise OSError("broken")

    opened = make(tmp_path)
    counting_commits(monkeypatch, *[broken] * 9)
    found = committed_at_once(opened, plans_of(opened, 3))
    assert all(isinstance(each, CommitStateUnknownError) for each in found)


def test_an_interrupt_of_one_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others learn that nobody knows, and whoever comes later commits."""

    def interrupted(real: Callable[[], None]) -> None:
        raise KeyboardInterrupt

    opened = make(tmp_path)
    plans = plans_of(opened, 3)
    counting_commits(monkeypatch, interrupted)
    with pytest.raises(KeyboardInterrupt):
        committed_at_once(opened, plans)
    assert not commit._LINES._lines
    assert commit_append(reopened(opened), plans[0]) is not None


def test_one_that_hangs_keeps_nobody_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that it commits for learn that nobody knows, others go on, and no row is lost."""
    monkeypatch.setattr(commit, "_LINES", Turns(Patience(for_turn=0.5, for_others=1.0)))
    opened = make(tmp_path)
    plans = plans_of(opened, 4)
    others: list[CommitResult | None] = []

    def hang(real: Callable[[], None]) -> None:
        alone = threading.Thread(
            target=lambda: others.append(commit_append(reopened(opened), plans[3]))
        )
        alone.start()
        alone.join()
        time.sleep(1.0)
        real()

    brought = counting_commits(monkeypatch, hang)

    found = committed_at_once(opened, plans[:3])

    assert brought == [3, 1, 3]
    assert sum(isinstance(each, CommitResult) for each in found) == 1
    unknown = [each for each in found if isinstance(each, CommitStateUnknownError)]
    assert len(unknown) == 2
    assert "has not come back for 15 minutes; look whether" in str(unknown[0])
    assert isinstance(others[0], CommitResult)
    change = change_of(reopened(opened))
    assert [each.sequence_number for each in change.metadata.snapshots] == [1, 2, 3, 4]
    assert change.metadata.snapshots[0].snapshot_id == others[0].snapshot_id
    check_clean(change)


SHARED = 6
ROWS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("by", pa.string())])
Landed = list[tuple[int, list[dict[str, Any]]]]


def upsert_in_threads(warehouse: str, process: int, threads: int, rounds: int) -> Landed:
    """Upsert keys that everybody writes; return the rows of each snapshot."""
    landed: Landed = []
    begin = threading.Barrier(threads)

    def upsert(thread: int) -> None:
        begin.wait()
        for number in range(rounds):
            by = f"{process}/{thread}/{number}"
            some = [(number + thread + step) % SHARED for step in range(3)]
            rows = [{"id": key, "by": by} for key in [*some, SHARED + 100 * thread + number]]
            table = pa.Table.from_pylist(rows, schema=ROWS)
            report = arctic.write("c.t", table, mode="upsert", warehouse=warehouse)
            assert report.snapshot_id is not None
            landed.append((report.snapshot_id, rows))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(upsert, range(threads)))
    return landed


@pytest.mark.parametrize(("processes", "threads", "rounds"), [(1, 6, 8), (2, 3, 6)])
def test_threads_of_processes_lose_and_double_nothing(
    tmp_path: Path, processes: int, threads: int, rounds: int
) -> None:
    """The table is the replay of their snapshots, and the changes are told in the same order."""
    warehouse = str(tmp_path)
    arctic.create_table("c.t", ROWS, primary_key=["id"], warehouse=warehouse)
    first = pa.Table.from_pylist([{"id": -1, "by": "first"}], schema=ROWS)
    start = arctic.write("c.t", first, mode="upsert", warehouse=warehouse).snapshot_id
    if processes == 1:
        landed = upsert_in_threads(warehouse, 0, threads, rounds)
    else:
        with forked().Pool(processes) as pool:
            tasks = [(warehouse, process, threads, rounds) for process in range(processes)]
            landed = [each for part in pool.starmap(upsert_in_threads, tasks) for each in part]

    snapshots = arctic.read("c.t.snapshots", warehouse=warehouse).read_all().to_pylist()
    order = {
        each["snapshot_id"]: each["sequence_number"]
        for each in snapshots
        if each["store"] == "change"
    }
    assert sorted(order.values()) == list(range(1, processes * threads * rounds + 2))
    model: dict[int, str] = {}
    for _, rows in sorted(landed, key=lambda each: order[each[0]]):
        model.update({each["id"]: each["by"] for each in rows})
    read = arctic.read("c.t", warehouse=warehouse).read_all().to_pylist()
    assert sorted((each["id"], each["by"]) for each in read) == [
        (-1, "first"),
        *sorted(model.items()),
    ]
    told = arctic.read_changes("c.t", start=start, warehouse=warehouse).read_all().to_pylist()
    replayed: dict[int, str] = {}
    for event in sorted(told, key=lambda each: (each["_transaction_id"], each["_file_offset"])):
        if event["_change_action"] in ("+I", "+U"):
            replayed[event["id"]] = event["by"]
        else:
            replayed.pop(event["id"], None)
    assert replayed == model
