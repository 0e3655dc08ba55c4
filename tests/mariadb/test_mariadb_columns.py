"""Names of columns that other columns take, and columns of the mirror's own, in MariaDB."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError
from arctic.job.mirror.sources.mysql_source import MySqlSource
from tests.mariadb.followed import Followed

_numbers = itertools.count()


@pytest.fixture
def source(socket: Path, tmp_path: Path) -> Iterator[Followed]:
    """Make a database with two tables."""
    source = Followed(socket, f"columns{next(_numbers)}", tmp_path, tables=("t", "u"))
    source.run(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)",
        "INSERT INTO t VALUES (1, 10, 100), (2, 20, 200), (3, 30, 300), (4, NULL, NULL)",
        "CREATE TABLE u (id INT PRIMARY KEY)",
    )
    yield source
    source.close()


STATEMENTS: list[tuple[list[str], int]] = [
    (["ALTER TABLE t DROP COLUMN a, RENAME COLUMN b TO a"], 0),
    (["ALTER TABLE t DROP COLUMN a", "ALTER TABLE t RENAME COLUMN b TO a"], 0),
    (["ALTER TABLE t DROP COLUMN A, RENAME COLUMN B TO `A`", "ALTER TABLE t ADD COLUMN b INT"], 0),
    (["ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a"], 0),
    (
        [
            "ALTER TABLE t RENAME COLUMN a TO c",
            "ALTER TABLE t RENAME COLUMN b TO a",
            "ALTER TABLE t RENAME COLUMN c TO b",
        ],
        0,
    ),
    (["ALTER TABLE t DROP COLUMN a, ADD COLUMN a INT"], 0),
    (["ALTER TABLE t RENAME COLUMN a TO c, ADD COLUMN a INT"], 0),
    (["ALTER TABLE t DROP COLUMN a, RENAME COLUMN b TO a, ADD COLUMN b INT AFTER a"], 0),
    (
        [
            "ALTER TABLE t DROP COLUMN IF EXISTS a, DROP COLUMN IF EXISTS x",
            "ALTER TABLE t RENAME COLUMN IF EXISTS x TO b",
            "ALTER TABLE t RENAME COLUMN IF EXISTS b TO a",
            "ALTER TABLE t ADD COLUMN IF NOT EXISTS a INT, ADD COLUMN IF NOT EXISTS b INT",
        ],
        0,
    ),
    (["ALTER TABLE t DROP COLUMN IF EXISTS a, ADD COLUMN IF NOT EXISTS a INT"], 0),
    (["ALTER TABLE t CHANGE COLUMN a b INT, CHANGE b a INT"], 1),
    (["ALTER TABLE t DROP COLUMN a, CHANGE COLUMN IF EXISTS b a BIGINT"], 1),
    (["ALTER TABLE t DROP COLUMN a", "ALTER TABLE t ADD COLUMN a INT NOT NULL DEFAULT 7"], 1),
    (["ALTER TABLE t ADD COLUMN n SERIAL"], 1),
    (["ALTER TABLE t ADD COLUMN n BIGINT UNSIGNED AUTO_INCREMENT UNIQUE"], 1),
    (["SET STATEMENT lock_wait_timeout = 9 FOR ALTER TABLE t DROP a, RENAME COLUMN b TO a"], 1),
    (["/*M!100100 ALTER TABLE t DROP COLUMN a, RENAME COLUMN b TO a */"], 1),
]


@pytest.mark.parametrize(("statements", "copies"), STATEMENTS, ids=lambda given: str(given)[:70])
@pytest.mark.parametrize("is_far_behind", [False, True], ids=["at once", "one by one"])
def test_rows_are_under_the_names_of_their_columns(
    source: Followed,
    statements: list[str],
    copies: int,
    is_far_behind: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No event touches them again. One by one, the table is looked at before the log is read."""
    source.mirror()
    caplog.set_level(logging.INFO)
    caplog.clear()
    source.run("UPDATE t SET id = 10 WHERE id = 1")
    for number, statement in enumerate(statements):
        source.run(statement)
        if is_far_behind:
            source.run(f"INSERT INTO t (id) VALUES ({number + 20})")
    source.max_changes = 1 if is_far_behind else 10_000
    source.mirror()
    source.check()
    source.run("UPDATE t SET id = 40 WHERE id = 4")
    source.mirror()
    source.check()

    assert source.quarantine() == []
    if not is_far_behind:
        assert caplog.messages.count(f"copied {source.name}.t") == copies


def test_a_name_that_moved_is_moved_once(source: Followed) -> None:
    """The log is read from where the other table is, and has the first statement again."""
    swap = "ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a"
    source.mirror()
    for statement in (swap, "ALTER TABLE t ADD COLUMN c INT", swap, "ALTER TABLE t DROP COLUMN c"):
        source.run(statement)
        source.mirror()
        source.check()


def test_names_that_move_while_rows_are_copied(
    source: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy is younger than the log, which has the statement still to come."""
    moment = MySqlSource.one_moment
    moves = ["ALTER TABLE t DROP COLUMN a, RENAME COLUMN b TO a, ADD COLUMN b INT AFTER a"]

    def moved_before(self: MySqlSource, name: str) -> AbstractContextManager[int]:
        while moves:
            source.run(moves.pop())
        return moment(self, name)

    source.mirror()
    monkeypatch.setattr(MySqlSource, "one_moment", moved_before)
    source.run("ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 7")
    source.mirror()
    source.check()
    source.run("INSERT INTO t (id) VALUES (9)")
    source.mirror()
    source.check()

    assert moves == []


def test_another_column_becomes_the_key_under_the_old_name(source: Followed) -> None:
    """Rows are found by other keys then, so a copy takes the place of all of them."""
    source.mirror()
    source.run(
        "DELETE FROM t WHERE b IS NULL",
        "ALTER TABLE t DROP COLUMN id",
        "INSERT INTO u VALUES (1)",
        "ALTER TABLE t RENAME COLUMN b TO id, ADD PRIMARY KEY (id)",
        "INSERT INTO t (id) VALUES (1)",
    )
    source.max_changes = 1
    source.mirror()
    source.check()

    assert [row["id"] for row in source.rows()] == [1, 100, 200, 300]


def test_a_column_of_the_mirror_itself_keeps_its_values(source: Followed) -> None:
    """While rows change, are added, taken away and copied; a name is given once."""
    source.mirror()
    table = arctic.open_table("m.t", **source.place)
    table.evolve_schema(add={"note": pa.string()})
    table.update("id < 3", {"note": "'mine'"})
    source.run(
        "UPDATE t SET a = 11 WHERE id = 1", "DELETE FROM t WHERE id = 3",
        "INSERT INTO t VALUES (5, 50, 500)", "UPDATE t SET id = 20 WHERE id = 2",
    )  # fmt: skip
    source.mirror()
    logged = source.rows()
    source.run("ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 7")
    source.mirror()
    copied = source.rows()

    assert [(row["id"], row["a"], row["note"]) for row in logged] == [
        (1, 11, "mine"), (4, None, None), (5, 50, None), (20, 20, None),
    ]  # fmt: skip
    assert [{**row, "c": 7} for row in logged] == copied
    source.run("ALTER TABLE t ADD COLUMN note INT")
    for _ in range(2):
        with pytest.raises(InvalidInputError, match=r"column note, and its mirror 'm\.t' has"):
            source.mirror()
    table.evolve_schema(rename={"note": "mine"})
    source.run("UPDATE t SET note = 5 WHERE id = 5")
    source.mirror()
    assert [(row["note"], row["mine"]) for row in source.rows()] == [
        (None, "mine"), (None, None), (5, None), (None, None),
    ]  # fmt: skip
    source.run("TRUNCATE t", "INSERT INTO t (id) VALUES (1)")
    source.mirror()
    assert [(row["id"], row["mine"]) for row in source.rows()] == [(1, None)]


def test_a_column_that_mirrors_one_and_is_gone_is_named(source: Followed) -> None:
    """With what brings it back."""
    source.mirror()
    table = arctic.open_table("m.t", **source.place)
    table.evolve_schema(rename={"a": "mine"})
    source.run("UPDATE t SET a = 1")
    with pytest.raises(InvalidInputError, match=r"'m\.t' has no column a any more"):
        source.mirror()
    table.evolve_schema(rename={"mine": "a"})
    source.mirror()
    source.check()


def test_a_mirror_that_begins_anew_keeps_the_columns_that_it_has(source: Followed) -> None:
    """Its log is gone; the numbers that it gave them are not those of a table that is new."""
    source.run("DROP TABLE u", "CREATE TABLE u (first INT, id INT PRIMARY KEY, last INT)")
    source.run("INSERT INTO u VALUES (1, 2, 3)")
    source.mirror()
    source.run("ALTER TABLE u DROP COLUMN first, RENAME COLUMN last TO first")
    source.mirror()
    source.run("RESET MASTER", "UPDATE u SET first = 4")
    source.mirror()
    source.check()
