"""A table goes back to a state that it was in, both stores as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.iceberg.cleaning import expire_snapshots as expire_snapshots_module
from arctic.iceberg.commits import commit_restore as commit_restore_module
from arctic.iceberg.storage.table_io import TableIO
from arctic.job.past import restore_job
from arctic.job.upkeep import expire_job, optimize_job
from tests.job.past.states import NOW, SCHEMA, catalog_table, make, rows_of, upsert

AT_ONCE = {**NOW, "clean-orphan-file.enabled": "false"}
"""Without the search for orphans, which may take what a commit that goes on has written."""


def test_a_restore_shows_the_old_rows_and_nothing_comes_back(tmp_path: Path) -> None:
    """Whatever lay in which store: later upserts, deletes, optimizing and expiry work on."""
    table = make(tmp_path)
    upsert(table, a=1, b=1)
    table.optimize(type="full")
    upsert(table, b=2, c=2)
    then = int(table.versions()["version"][-1].as_py())
    old = rows_of(table)
    upsert(table, a=9, d=9)
    table.optimize(type="minor")
    upsert(table, e=9)
    table.write(pa.table({"id": ["c"]}), mode="delete")

    report = table.restore(then)

    assert rows_of(table) == old == {"a": 1, "b": 2, "c": 2}
    assert report.files_written > 0
    upsert(table, d=3)
    for kind in ("minor", "major", "full"):
        table.optimize(type=kind)
        assert rows_of(table) == {**old, "d": 3}
    table.expire(options=NOW)
    assert rows_of(table) == {**old, "d": 3}
    assert table.count() == 4


def test_a_restore_of_a_merged_state_writes_no_data_and_can_be_undone(tmp_path: Path) -> None:
    """Every state of history stays one, also those that were left behind."""
    table = make(tmp_path)
    upsert(table, a=1)
    table.optimize(type="full")
    merged = int(table.versions()["version"][-1].as_py())
    upsert(table, a=2, b=2)
    before = int(table.versions()["version"][-1].as_py())

    assert table.restore(merged).files_written == 0
    assert rows_of(table) == {"a": 1}
    table.restore(before)
    assert rows_of(table) == {"a": 2, "b": 2}
    numbers = table.versions()["version"].to_pylist()
    assert numbers == list(range(1, 1 + len(numbers)))
    shown = [rows_of(table, version=number) for number in numbers]
    assert shown == [{"a": 1}, {"a": 1}, {"a": 2, "b": 2}, {"a": 1}, {"a": 2, "b": 2}]
    base = catalog_table(tmp_path, "m.t")
    assert len(base.metadata.snapshots) == 3
    ids = table.versions()["change_snapshot_id"].to_pylist()
    assert rows_of(table, options={"snapshot-id": str(ids[2])}) == {"a": 2, "b": 2}


def test_the_empty_beginning_can_be_restored(tmp_path: Path) -> None:
    """Base had no snapshot: the new one begins with no files, and its changes are merged."""
    table = make(tmp_path)
    upsert(table, a=1)
    upsert(table, b=1)
    table.write(table.read().read_all(), mode="overwrite")

    table.restore(1)

    assert rows_of(table) == {"a": 1}


def test_the_parent_of_a_restore_is_what_it_brought_back(tmp_path: Path) -> None:
    """So an expiry that goes by parents, as Iceberg's does, keeps the files that came back."""
    table = make(tmp_path, primary_key=())
    table.write(pa.table({"id": ["a"], "n": [1]}, SCHEMA))
    first = table.versions()["base_snapshot_id"][0].as_py()
    table.write(pa.table({"id": ["b"], "n": [2]}, SCHEMA), mode="overwrite")
    second = table.versions()["base_snapshot_id"][1].as_py()

    table.restore(1)

    base = catalog_table(tmp_path, "m.t")
    head = base.current_snapshot()
    assert head is not None
    assert head.summary is not None
    assert head.parent_snapshot_id == first
    assert head.summary["arctic.restored-over"] == str(second)
    assert head.summary["total-records"] == "1"
    assert base.scan().to_arrow().to_pylist() == [{"id": "a", "n": 1}]
    assert rows_of(table) == {"a": 1}
    table.write(pa.table({"id": ["c"], "n": [3]}, SCHEMA))
    assert rows_of(table) == {"a": 1, "c": 3}
    assert rows_of(table, version=2) == {"b": 2}


def test_a_restore_that_is_there_already_commits_nothing(tmp_path: Path) -> None:
    """The newest state is not made once more."""
    table = make(tmp_path)
    upsert(table, a=1)

    assert table.restore(1).snapshot_id is None
    assert table.versions().num_rows == 1


def test_changes_that_come_while_a_restore_works_stay_on_top(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As beside an overwrite: the restore takes the place of what was there when it began."""
    table = make(tmp_path)
    upsert(table, a=1)
    upsert(table, a=2)
    commit = restore_job.__dict__["commit_restore"]

    def late(*arguments: Any) -> Any:
        upsert(arctic.open_table("m.t", warehouse=str(tmp_path)), b=7)
        return commit(*arguments)

    monkeypatch.setattr(restore_job, "commit_restore", late)
    table.restore(1)

    assert rows_of(table) == {"a": 1, "b": 7}


def test_an_optimize_that_began_before_a_restore_brings_nothing_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was planned on the very files that come back, with changes that are hidden now."""
    table = make(tmp_path)
    upsert(table, a=1)
    table.optimize(type="full")
    upsert(table, a=2)
    commit = optimize_job.__dict__["commit_rewrite"]
    restored: list[Any] = []

    def restore_first(*arguments: Any) -> Any:
        if not restored:
            restored.append(table.restore(2))
        return commit(*arguments)

    monkeypatch.setattr(optimize_job, "commit_rewrite", restore_first)
    arctic.optimize("m.t", type="full", warehouse=str(tmp_path))

    assert restored
    assert rows_of(table) == {"a": 1}


def test_an_unknown_state_is_refused(tmp_path: Path) -> None:
    """With what there is."""
    table = make(tmp_path)
    upsert(table, a=1)

    with pytest.raises(arctic.NotFoundError, match=r"no version and no snapshot 7; .* 1 to 1"):
        table.restore(7)
    with pytest.raises(arctic.NotFoundError, match="no tag 'x'; its tags: none"):
        table.read(version="x")
    with pytest.raises(arctic.InvalidInputError, match="expected either a version or a time"):
        table.restore()
    with pytest.raises(arctic.InvalidInputError, match="give only one"):
        table.read(version=1, as_of=5)


def test_keys_that_move_between_partitions_come_back_once(tmp_path: Path) -> None:
    """A key is in one partition only, before and after."""
    table = make(tmp_path, partition_by=["n"])
    upsert(table, a=1, b=1)
    table.optimize(type="full")
    upsert(table, a=2)
    upsert(table, a=3, b=3)
    table.optimize(type="minor")

    table.restore(3)

    assert rows_of(table) == {"a": 2, "b": 1}
    upsert(table, a=1)
    table.optimize(type="full")
    assert rows_of(table) == {"a": 1, "b": 1}


def letters(table: arctic.Table) -> list[str]:
    """Return the keys of the newest state."""
    return sorted(table.read(columns="id").read_all()["id"].to_pylist())


def three_states(folder: Path) -> arctic.Table:
    """Make a table that had a row, a second one beside it, and then another one instead."""
    table = make(folder, primary_key=())
    for id_, mode in (("a", "append"), ("b", "append"), ("c", "overwrite")):
        table.write(pa.table({"id": [id_], "n": [1]}, SCHEMA), mode=mode)
    return table


def test_what_expires_before_the_commit_does_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are gone by then; no requirement of a catalog's says that a snapshot is there."""
    table = three_states(tmp_path)
    staged_on, expired = commit_restore_module.__dict__["staged_on"], list[Any]()

    def then_expired(*arguments: Any) -> Any:
        staged = staged_on(*arguments)
        if not expired:
            expired.append(arctic.expire("m.t", warehouse=str(tmp_path), options=AT_ONCE))
        return staged

    monkeypatch.setattr(commit_restore_module, "staged_on", then_expired)
    with pytest.raises(arctic.NotFoundError, match="which is to come back, has expired"):
        table.restore(1)

    assert {item.kind.value for item in expired[0].items} >= {"snapshot", "data file"}
    assert letters(table) == ["c"]
    store = catalog_table(tmp_path, "m.t")
    assert list(store.metadata.refs) == ["main"]
    listed = {each.manifest_list.rpartition("/")[2] for each in store.metadata.snapshots}
    assert {path.name for path in (tmp_path / "m/t/metadata").glob("snap-*")} == listed


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("step", ["commit", "look", "delete"])
def test_a_restore_at_any_step_of_an_expiry_leaves_a_state_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, version: int
) -> None:
    """What is restored before the snapshots go keeps its files; what has gone is refused.

    The first state is tagged, so it can come back at every step, with a file that the second one
    has too.
    """
    table = three_states(tmp_path)
    table.tag("first", 1)
    done: list[str] = []

    def restore_once() -> None:
        if not done:
            done.append("begun")
            try:
                table.restore("first" if version == 1 else version)
            except arctic.NotFoundError:
                done.append("refused")

    places = {
        "commit": (expire_snapshots_module, "_committed"),
        "look": (expire_job, "referenced_paths"),
        "delete": (TableIO, "delete_quietly"),
    }
    where, name = places[step]
    real = where.__dict__[name]

    def restored_before(*arguments: Any, **named: Any) -> Any:
        restore_once()
        return real(*arguments, **named)

    monkeypatch.setattr(where, name, restored_before)
    arctic.expire("m.t", warehouse=str(tmp_path), options=AT_ONCE)

    came_back = version == 1 or step == "commit"
    assert done == (["begun"] if came_back else ["begun", "refused"])
    assert letters(table) == (["a", "b"][:version] if came_back else ["c"])
    table.expire(options=AT_ONCE)
    assert letters(table) == (["a", "b"][:version] if came_back else ["c"])
