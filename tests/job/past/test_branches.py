"""Branches of tables without a key: rows beside the table's, until they become the table."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arctic
from tests.job.past.states import NOW, SCHEMA, catalog_table, make, upsert

PLACE = "m.t.branch_x"


def bag(folder: Path, **rows: int) -> arctic.Table:
    """Make a table without a key, with these rows in a file."""
    table = make(
        folder, primary_key=(), properties={"self-optimizing.minor.trigger.file-count": "2"}
    )
    append(table, **rows)
    return table


def append(table: arctic.Table, **rows: int) -> None:
    """Write rows."""
    table.write(pa.table({"id": list(rows), "n": list(rows.values())}, SCHEMA))


def on(folder: Path, branch: str = "x") -> arctic.Table:
    """Open a branch of the table."""
    return arctic.open_table(f"m.t.branch_{branch}", warehouse=str(folder))


def rows_of(table: arctic.Table, **arguments: Any) -> Counter[tuple[str, int]]:
    """Return the rows as a bag."""
    found = table.read(**arguments).read_all().to_pylist()
    return Counter((row["id"], row["n"]) for row in found)


def test_every_write_moves_the_branch_alone(tmp_path: Path) -> None:
    """Appends, overwrites, deletes, updates and merges; past states of it are found too."""
    table = bag(tmp_path, a=1, b=2)
    made = table.create_branch("x")
    assert made == table.create_branch("x")
    branch, before = on(tmp_path), rows_of(table)

    append(branch, c=3)
    branch.update("id = 'a'", set={"n": "n + 10"})
    branch.delete("id = 'b'")
    source = pa.table({"id": ["c", "d"], "n": [30, 40]}, SCHEMA)
    branch.merge(source, on="id").when_matched_update_all().when_not_matched_insert_all().execute()
    assert rows_of(branch) == Counter([("a", 11), ("c", 30), ("d", 40)])
    assert rows_of(branch) == rows_of(table, version="x")
    assert rows_of(table) == before
    assert branch.count() == 3
    assert rows_of(branch, version=str(made.snapshot_id)) == before
    append(table, z=26)
    branch.write(pa.table({"id": ["e"], "n": [5]}, SCHEMA), mode="overwrite")
    assert rows_of(branch) == Counter([("e", 5)])
    assert rows_of(table) == before + Counter([("z", 26)])
    assert table.versions()["operation"].to_pylist() == ["append", "append"]
    assert {row["name"] for row in table.inspect("refs").to_pylist()} == {"main", "x"}
    assert "branch_x" in repr(branch.refresh())


def test_a_branch_begins_at_any_state_and_becomes_the_table(tmp_path: Path) -> None:
    """What is fast-forwarded loses nothing; what would is refused, and says so."""
    table = bag(tmp_path, a=1)
    append(table, b=2)
    table.create_branch("x", version=1)
    append(on(tmp_path), c=3)
    assert rows_of(on(tmp_path)) == Counter([("a", 1), ("c", 3)])

    with pytest.raises(arctic.InvalidInputError, match="'main' has commits that 'x' lacks"):
        table.fast_forward("main", "x")
    table.create_branch("y")
    append(on(tmp_path, "y"), d=4)
    before, after = table.fast_forward("main", "y")

    assert before != after
    assert table.fast_forward("main", "y") == (after, after)
    assert rows_of(table) == Counter([("a", 1), ("b", 2), ("d", 4)])
    append(table, e=5)
    assert len(rows_of(table)) == 4
    table.drop_branch("y")
    with pytest.raises(arctic.NotFoundError, match="no branch 'y'; there are 'main', 'x'"):
        on(tmp_path, "y")


def test_what_only_a_branch_holds_stays_until_it_is_dropped(tmp_path: Path) -> None:
    """Over optimizing, expiry and the search for orphans; afterwards it goes."""
    table = bag(tmp_path, a=1, b=2)
    append(table, c=3)
    table.create_branch("x")
    branch = on(tmp_path)
    append(branch, d=4)
    branch.delete("id = 'a'")
    expected = rows_of(branch)
    catalog_files = sorted(tmp_path.rglob("*.parquet"))
    for number in range(3):
        append(table, **{f"e{number}": number})
        table.delete("id = 'b'")
        table.optimize(type="full")
        table.expire(options=NOW)
        table.clean_orphans(options=NOW)
        assert rows_of(branch) == expected
    held = [path for path in catalog_files if path.exists()]
    branch.update("id = 'd'", set={"n": "44"})
    assert rows_of(branch) == Counter([("b", 2), ("c", 3), ("d", 44)])

    table.drop_branch("x")
    append(table, f=6)
    table.expire(options=NOW)

    assert held
    assert not any(path.exists() for path in held)
    assert rows_of(table)["f", 6] == 1


def test_writers_of_two_branches_never_lose_to_each_other(tmp_path: Path) -> None:
    """Numbers of snapshots are of the whole table, so one of two at once begins anew."""
    table = bag(tmp_path, a=0)
    names = ("main", "x", "y")
    for name in names[1:]:
        table.create_branch(name)

    def write(name: str) -> None:
        mine = arctic.open_table(f"m.t.branch_{name}", warehouse=str(tmp_path))
        for number in range(6):
            append(mine, **{f"{name}{number}": number})

    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    for name in names:
        mine = arctic.open_table(f"m.t.branch_{name}", warehouse=str(tmp_path))
        expected = Counter([("a", 0)] + [(f"{name}{number}", number) for number in range(6)])
        assert rows_of(mine) == expected
    snapshots = catalog_table(tmp_path, "m.t").metadata.snapshots
    assert len({each.sequence_number for each in snapshots}) == len(snapshots) == 19


def told(found: pa.RecordBatchReader) -> list[str]:
    """Return the ids of rows that came."""
    return [row["id"] for row in found.read_all().to_pylist()]


def test_who_follows_the_table_is_told_of_its_commits_alone(tmp_path: Path) -> None:
    """Those of a branch lie between them by number, and are the table's once it is moved there."""
    table = bag(tmp_path, a=1)
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    follower, start = table.consumer("c"), table.history()["snapshot_id"][0].as_py()
    assert told(follower.read()) == ["a"]
    follower.commit()
    table.create_branch("x")
    append(on(tmp_path), b=2)
    append(table, c=3)
    append(on(tmp_path), d=4)
    table.create_branch("y")
    append(on(tmp_path, "y"), e=5)
    assert told(follower.read()) == ["c"]
    follower.commit()
    table.drop_branch("x")
    table.fast_forward("main", "y")
    append(table, f=6)

    assert told(follower.read()) == ["e", "f"]
    for form in ({}, {"change-rows": "commits"}, {"change-rows": "net"}):
        after = {**form, "start-version": "0"}
        assert told(arctic.read_changes("m.t", options=after, **place)) == ["a", "c", "e", "f"]
    assert told(arctic.read_changes("m.t", start=start, **place)) == ["c", "e", "f"]
    follower.commit()
    head = catalog_table(tmp_path, "m.t").metadata.current_snapshot_id
    table.expire(options=NOW)
    append(on(tmp_path, "y"), g=7)
    append(table, h=8)
    assert told(follower.read()) == ["h"]
    assert told(arctic.read_changes("m.t", start=head, **place)) == ["h"]


def test_a_gap_before_what_is_read_is_refused(tmp_path: Path) -> None:
    """Nobody can say whose a number was, where what the newest commit goes back to has expired."""
    table = bag(tmp_path, a=1)
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    start = table.history()["snapshot_id"][0].as_py()
    table.tag("first")
    append(table, b=2)
    append(table, c=3)
    table.expire(options=NOW)
    append(table, d=4)

    with pytest.raises(arctic.NotFoundError, match="history"):
        arctic.read_changes("m.t", start=start, **place)
    with pytest.raises(arctic.NotFoundError, match="commit 1 of 1 to 4 is gone"):
        arctic.read_changes("m.t", options={"start-version": "0"}, **place)


def test_a_branch_of_a_session_is_made_by_its_first_write(tmp_path: Path) -> None:
    """``wap-branch`` is of tables with ``write.wap.enabled``, and of no verb but of rows."""
    table = bag(tmp_path, a=1)
    asked = {"wap-branch": "audit"}
    plain = arctic.read("m.t", warehouse=str(tmp_path), options=asked)
    assert plain.read_all().num_rows == 1
    table.write(pa.table({"id": ["b"], "n": [2]}, SCHEMA), options=asked)
    assert rows_of(table) == Counter([("a", 1), ("b", 2)])
    table.set_properties({"write.wap.enabled": "true"})

    assert rows_of(table, options=asked) == rows_of(table)
    table.write(pa.table({"id": ["c"], "n": [3]}, SCHEMA), options=asked)

    assert rows_of(table) == Counter([("a", 1), ("b", 2)])
    assert rows_of(table, options=asked) == Counter([("a", 1), ("b", 2), ("c", 3)])
    with pytest.raises(arctic.InvalidInputError, match="works on branch 'audit'"):
        arctic.read("m.t.branch_audit", warehouse=str(tmp_path), options=asked)


def test_what_a_branch_cannot_be_is_refused(tmp_path: Path) -> None:
    """Before anything is changed, with what to do instead."""
    empty = make(tmp_path, primary_key=())
    with pytest.raises(arctic.InvalidInputError, match="write its first rows"):
        empty.create_branch("x")
    empty.set_properties({"write.wap.enabled": "true"})
    with pytest.raises(arctic.UnsupportedError, match="write the first rows"):
        empty.write(pa.table({"id": ["c"], "n": [3]}, SCHEMA), options={"wap-branch": "w"})
    append(empty, a=1)
    for name in ("main", "7", "a.b", "", "a b"):
        with pytest.raises(arctic.InvalidInputError, match="branch"):
            empty.create_branch(name)
    empty.tag("then")
    empty.create_branch("x")
    append(empty, b=2)
    for name in ("then", "x"):
        with pytest.raises(arctic.AlreadyExistsError, match=f"tag or branch '{name}'"):
            empty.create_branch(name)
    with pytest.raises(arctic.NotFoundError, match="no branch 'then'"):
        on(tmp_path, "then")
    rows = pa.table({"id": ["c"], "n": [3]}, SCHEMA)
    given: dict[str, Any] = {"mode": "append", "options": {"primaryKey": ""}}
    with pytest.raises(arctic.NotFoundError, match="no branch 'typo'"):
        arctic.write("m.t.branch_typo", rows, warehouse=str(tmp_path), **given)
    with pytest.warns(RuntimeWarning, match=r"is committed, .* is a branch of table 'm.t'"):
        on(tmp_path).write(rows, options={"optimize": "auto"})
    branch = on(tmp_path)
    refused: list[Any] = [
        branch.optimize,
        branch.expire,
        branch.versions,
        branch.clean_orphans,
        lambda: branch.tag("t"),
        lambda: branch.restore(1),
        lambda: branch.evolve_schema(drop="n"),
        lambda: branch.set_properties({"a": "b"}),
        lambda: arctic.clone(PLACE, "m.u", warehouse=str(tmp_path)),
    ]
    for verb in refused:
        with pytest.raises(arctic.ArcticError, match="branch_x"):
            verb()
    keyed = arctic.create_table("m.k", SCHEMA, primary_key="id", warehouse=str(tmp_path))
    upsert(keyed, a=1)
    with pytest.raises(arctic.UnsupportedError, match=r"two stores; make a clone instead"):
        keyed.create_branch("x")
    assert keyed.branches() == ()


def test_a_table_may_have_the_name_of_a_branch(tmp_path: Path) -> None:
    """It is that table for as long as there is no such branch."""
    table = bag(tmp_path, a=1)
    own = arctic.create_table(PLACE, SCHEMA, warehouse=str(tmp_path))
    append(own, q=9)
    assert rows_of(on(tmp_path)) == Counter([("q", 9)])
    own.set_properties({"a": "b"})
    table.create_branch("x")
    assert rows_of(on(tmp_path)) == Counter([("a", 1)])


def test_a_tag_hides_no_table(tmp_path: Path) -> None:
    """It is a name of a snapshot as well, and no branch."""
    table = bag(tmp_path, a=1)
    own = arctic.create_table(PLACE, SCHEMA, warehouse=str(tmp_path))
    append(own, q=9)
    table.tag("x")
    assert rows_of(on(tmp_path)) == Counter([("q", 9)])


def test_no_table_is_made_under_the_name_of_a_branch(tmp_path: Path) -> None:
    """Its rows would go to the branch."""
    table = bag(tmp_path, a=1)
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    table.create_branch("x")
    other = arctic.create_table("m.o", SCHEMA, **place)
    verbs: list[Any] = [
        lambda: arctic.create_table(PLACE, SCHEMA, **place),
        lambda: other.rename(PLACE),
        lambda: arctic.clone("m.o", PLACE, **place),
    ]
    for verb in verbs:
        with pytest.raises(arctic.AlreadyExistsError, match=r"name of a branch of table 'm\.t'"):
            verb()
    assert rows_of(on(tmp_path)) == rows_of(table) == Counter([("a", 1)])


STEPS = ("append", "delete", "update", "begin", "forward", "drop", "optimize", "clean")


@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_life_with_branches_is_that_of_bags(data: st.DataObject) -> None:
    """Whatever is written, optimized, cleaned, begun, forwarded or dropped, in any order."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        table, number = bag(folder, a=0), 0
        model = {"main": Counter([("a", 0)])}
        for _ in range(data.draw(st.integers(4, 14))):
            step = data.draw(st.sampled_from(STEPS))
            name = data.draw(st.sampled_from(sorted(model)))
            mine, number = on(folder, name), number + 1
            key = data.draw(st.sampled_from([row for row, _ in model[name]] or ["a"]))
            rows = model[name]
            if step == "append":
                append(mine, **{f"r{number}": number})
                model[name] = rows + Counter([(f"r{number}", number)])
            elif step == "delete":
                mine.delete(f"id = '{key}'")
                model[name] = Counter({row: n for row, n in rows.items() if row[0] != key})
            elif step == "update":
                mine.update(f"id = '{key}'", set={"n": str(number)})
                moved = [(row[0], number if row[0] == key else row[1]) for row in rows.elements()]
                model[name] = Counter(moved)
            elif step == "begin":
                append(mine, **{f"r{number}": number})
                model[name] = rows + Counter([(f"r{number}", number)])
                heads = {each.name: each.snapshot_id for each in table.branches()}
                table.create_branch(f"b{number}", str(heads[name]))
                model[f"b{number}"] = model[name]
            elif step == "forward":
                try:
                    table.fast_forward("main", name)
                except arctic.InvalidInputError:
                    continue
                model["main"] = model[name]
            elif step == "drop" and name != "main":
                table.drop_branch(name)
                del model[name]
            elif step == "optimize":
                table.optimize(type="full")
            elif step == "clean":
                table.expire(options=NOW)
                table.clean_orphans(options=NOW)
            found = {each: rows_of(on(folder, each)) for each in model}
            assert found == model
            assert rows_of(table) == model["main"]
