"""Versions and tags: names for states of both stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.iceberg.commits.refs import commit_ref
from tests.job.past.states import NOW, SCHEMA, catalog_table, make, rows_of, upsert


def test_every_commit_is_a_version_and_numbers_stay(tmp_path: Path) -> None:
    """Also after the older history has expired."""
    table = make(tmp_path)
    expected = {}
    for number in range(1, 4):
        upsert(table, a=number, **{f"k{number}": number})
        expected[number] = rows_of(table)
    table.optimize(type="full")
    expected[4] = rows_of(table)
    upsert(table, a=5)
    expected[5] = rows_of(table)

    assert table.versions()["version"].to_pylist() == [1, 2, 3, 4, 5]
    assert {number: rows_of(table, version=number) for number in expected} == expected
    assert rows_of(table, options={"versionAsOf": "2"}) == expected[2]
    assert table.count(version=1) == 2

    keep = {**NOW, "snapshot.keep.duration": "1d", "snapshot.keep.min-count": "2"}
    table.expire(options=keep)
    numbers = table.versions()["version"].to_pylist()
    assert numbers == sorted(set(numbers))
    assert numbers[-1] >= 5
    for number in set(numbers) & set(expected):
        assert rows_of(table, version=number) == expected[number]
    with pytest.raises(arctic.NotFoundError, match="no version and no snapshot 1;"):
        table.read(version=1)


def test_a_tag_keeps_its_state_over_every_expiry(tmp_path: Path) -> None:
    """In both stores; once it is dropped, the state goes."""
    table = make(tmp_path)
    upsert(table, a=1)
    first = table.tag("changes only")
    assert first.base_snapshot_id is None
    table.optimize(type="full")
    upsert(table, b=2)
    table.tag("both", 3)
    upsert(table, a=3, b=3)
    table.tag("old", 2)
    for _ in range(2):
        upsert(table, c=4)
        table.optimize(type="full")
        table.expire(options=NOW)

    assert rows_of(table, version="changes only") == {"a": 1}
    assert rows_of(table, version="old") == {"a": 1}
    assert rows_of(table, version="both") == {"a": 1, "b": 2}
    assert rows_of(table) == {"a": 3, "b": 3, "c": 4}
    assert [each.name for each in table.tags()] == ["both", "changes only", "old"]
    assert "both" in catalog_table(tmp_path, "m.t").metadata.refs
    assert "both" in catalog_table(tmp_path, "m.t_change_").metadata.refs

    table.restore("both")
    assert rows_of(table) == {"a": 1, "b": 2}
    for name in ("both", "changes only", "old"):
        table.drop_tag(name)
    table.expire(options=NOW)
    assert rows_of(table) == {"a": 1, "b": 2}
    assert table.versions().num_rows == 1
    with pytest.raises(arctic.NotFoundError, match="no tag 'both'; its tags: none"):
        table.read(version="both")


def test_a_tag_is_whole_or_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that dies between the stores leaves half, which is refused, and finished by a call."""
    table = make(tmp_path)
    upsert(table, a=1)
    table.optimize(type="full")
    commit, seen = commit_ref.commit_ref, []

    def dies_at_base(store: object, *arguments: object) -> bool:
        seen.append(store)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return commit(store, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(commit_ref, "commit_ref", dies_at_base)
    with pytest.raises(KeyboardInterrupt):
        table.tag("x")
    monkeypatch.undo()

    with pytest.raises(arctic.NotFoundError, match="only in the change store"):
        table.read(version="x")
    assert table.tags() == ()
    upsert(table, b=2)
    table.tag("x")
    assert rows_of(table, version="x") == {"a": 1, "b": 2}
    table.drop_tag("x")
    with pytest.raises(arctic.NotFoundError, match="has no tag 'x'"):
        table.drop_tag("x")


@pytest.mark.parametrize("kind", ["tag", "create_branch"])
def test_what_expires_in_the_moment_of_naming_it_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The catalog refuses a name for it, and the next look says why."""
    table = make(tmp_path, primary_key=())
    for mode in ("append", "overwrite"):
        table.write(pa.table({"id": ["a"], "n": [1]}, SCHEMA), mode=mode)
    commit = commit_ref.__dict__["commit_metadata"]

    def once_it_expired(*arguments: Any, **named: Any) -> None:
        monkeypatch.setattr(commit_ref, "commit_metadata", commit)
        assert table.expire(options=NOW).items
        commit(*arguments, **named)

    monkeypatch.setattr(commit_ref, "commit_metadata", once_it_expired)
    with pytest.raises(arctic.NotFoundError, match=r"has expired, so (tag|branch) 'x' cannot"):
        getattr(table, kind)("x", 1)


def test_a_tag_says_one_thing(tmp_path: Path) -> None:
    """Making it again is nothing; naming something else is refused, and so are numbers."""
    table = make(tmp_path)
    upsert(table, a=1)
    table.tag("x")
    table.tag("x", version=1)
    upsert(table, a=2)

    with pytest.raises(arctic.AlreadyExistsError, match="'x' already; drop it first"):
        table.tag("x")
    for name in ("7", "main", "", " x"):
        with pytest.raises(arctic.InvalidInputError, match="tag"):
            table.tag(name)


def test_what_a_tag_needs_stays_also_where_another_call_moved_its_half(tmp_path: Path) -> None:
    """Two calls of one name at a time: base says which was first, the change store the other."""
    table = make(tmp_path)
    upsert(table, a=2)
    assert table.tag("x").base_snapshot_id is None  # no snapshot of base holds it up
    upsert(table, a=3)
    change = catalog_table(tmp_path, "m.t_change_")
    newest = change.metadata.current_snapshot_id or 0
    change.manage_snapshots().remove_tag("x").commit()
    change.manage_snapshots().create_tag(newest, "x").commit()
    for number in range(4, 6):
        table.optimize(type="full")
        table.expire(options=NOW)
        upsert(table, a=number)

    assert rows_of(table, version="x") == {"a": 2}


def test_branches_of_others_stay(tmp_path: Path) -> None:
    """No tag takes their name, and none is dropped as one."""
    table = make(tmp_path)
    upsert(table, a=1)
    table.optimize(type="full")
    for name in ("m.t", "m.t_change_"):
        store = catalog_table(tmp_path, name)
        head = store.metadata.current_snapshot_id or 0
        store.manage_snapshots().create_branch(head, f"audit {name}").commit()

        with pytest.raises(arctic.AlreadyExistsError, match="branch"):
            table.tag(f"audit {name}")
        with pytest.raises(arctic.NotFoundError):
            table.drop_tag(f"audit {name}")
        assert f"audit {name}" in catalog_table(tmp_path, name).metadata.refs


def test_tags_of_others_are_read_as_their_snapshot(tmp_path: Path) -> None:
    """In a table without a key a tag is one of Iceberg's."""
    table = make(tmp_path, primary_key=())
    table.write(pa.table({"id": ["a"], "n": [1]}, SCHEMA))
    store = catalog_table(tmp_path, "m.t")
    store.manage_snapshots().create_tag(store.metadata.current_snapshot_id or 0, "theirs").commit()
    table.write(pa.table({"id": ["b"], "n": [2]}, SCHEMA))

    assert rows_of(table, version="theirs") == {"a": 1}
    assert rows_of(table, version=2) == {"a": 1, "b": 2}


@pytest.mark.parametrize("kept", [1, 2, 3, 4])
def test_a_number_means_the_same_state_after_an_expiry(tmp_path: Path, kept: int) -> None:
    """However much of each store's history is left, one ending earlier than the other."""
    table = make(tmp_path)
    columns = ["version", "base_snapshot_id", "change_snapshot_id"]

    def states() -> dict[int, tuple[int | None, int | None]]:
        rows = table.versions().select(columns).to_pylist()
        return {row["version"]: tuple(row[name] for name in columns[1:]) for row in rows}

    for number in range(3):
        upsert(table, a=number, b=number)
        upsert(table, a=number)
        table.write(pa.table({"id": ["z"], "n": [number]}, SCHEMA), mode="overwrite")
        upsert(table, c=number)
        table.optimize(type="full")
        upsert(table, d=number)
    before = states()
    table.expire(options={**NOW, "snapshot.keep.min-count": str(kept)})

    # The expiry is a commit of its own, with the next number.
    after = {number: state for number, state in states().items() if number <= max(before)}
    assert after.items() <= before.items()
