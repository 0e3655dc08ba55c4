"""Random lives of tables of MariaDB whose columns change, and mirrors that are behind of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pymysql
import pytest

from arctic.job.mirror.sources.mysql_source import MySqlSource
from tests.dying_writer import DiedError, DyingWriter
from tests.mariadb.followed import Followed

_NAMES = "abcd"
_TYPES = ["INT", "INT", "INT", "BIGINT", "VARCHAR(20)", "DECIMAL(6,2)"]
_FORMS = [
    "DROP COLUMN {x}",
    "ADD COLUMN {new} {type}",
    "ADD COLUMN {new} {type} AFTER id",
    "ADD COLUMN {new} INT NOT NULL DEFAULT 7",
    "ADD COLUMN {new} SERIAL",
    "RENAME COLUMN {x} TO {new}",
    "RENAME COLUMN {x} TO {y}, RENAME COLUMN {y} TO {x}",
    "CHANGE {x} {y} INT, CHANGE {y} {x} INT",
    "DROP COLUMN {x}, RENAME COLUMN {y} TO {x}",
    "DROP COLUMN {x}, RENAME COLUMN {y} TO {x}, ADD COLUMN {y} INT AFTER {x}",
    "DROP COLUMN {x}, ADD COLUMN {x} {type}",
    "DROP COLUMN {x}, ADD COLUMN {x} INT DEFAULT 3",
    "CHANGE {x} {new} {type}",
    "RENAME COLUMN IF EXISTS {new} TO {x}, DROP COLUMN IF EXISTS {y}",
    "ADD COLUMN IF NOT EXISTS {x} INT, DROP COLUMN IF EXISTS {new}",
]
_CHANGES = [
    "REPLACE INTO {table} (id) VALUES ({key})",
    "INSERT INTO {table} (id, {x}) VALUES ({key}, {value})",
    "UPDATE {table} SET {x} = {value} WHERE id % 7 = {key} % 7",
    "UPDATE {table} SET id = id + 100 WHERE id = {key}",
    "DELETE FROM {table} WHERE id = {key}",
]


class Life:
    """Two tables, and statements that may be wrong: the server says so."""

    def __init__(self, source: Followed, seed: int) -> None:
        self.chance = random.Random(seed)
        self.source = source
        for table in source.tables:
            source.run(
                f"CREATE TABLE {table} (id INT PRIMARY KEY, a INT, b INT)",
                f"INSERT INTO {table} SELECT seq, seq, seq * 10 FROM seq_1_to_20",
            )

    def alter(self, table: str) -> None:
        """Alter a table."""
        self._try(f"ALTER TABLE {table} {self.chance.choice(_FORMS)}")

    def go_on(self) -> None:
        """Run a statement."""
        table = self.chance.choice("ttu")
        if self.chance.random() < 0.5:
            self.alter(table)
        else:
            self._try(self.chance.choice(_CHANGES).replace("{table}", table))

    def mirror(self) -> None:
        """Mirror some batches, and perhaps die at a commit."""
        chance = self.chance
        self.source.max_changes = chance.choice([1, 1, 3, 10_000])
        steps = chance.choice([1, 2, 3, 1_000])
        calls = iter(range(steps))
        dying = DyingWriter(before=chance.random() < 0.5, left=chance.choice([0, 2, 1_000]))
        try:
            self.source.mirror(write=dying, stop=lambda: next(calls, None) is None)
        except DiedError:
            return

    def _try(self, form: str) -> None:
        chance = self.chance
        names = chance.sample(_NAMES, 3)
        # In another case it is the same name.
        x, y, new = (name.upper() if chance.random() < 0.1 else name for name in names)
        key, value, type_ = chance.randrange(30), chance.randrange(100), chance.choice(_TYPES)
        try:
            self.source.run(form.format(x=x, y=y, new=new, key=key, value=value, type=type_))
        except pymysql.err.MySQLError:
            return


@pytest.fixture
def tables(socket: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Followed]:
    """Make a database."""
    source = Followed(socket, f"altered{request.param}", tmp_path, tables=("t", "u"))
    yield source
    source.close()


@pytest.mark.parametrize(
    ("tables", "seed"), [(seed, seed) for seed in range(12)], indirect=["tables"]
)
def test_a_mirror_has_the_rows_of_its_source_whatever_became_of_the_columns(
    tables: Followed, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statement by statement or far behind; tables are altered while they are copied, too."""
    life, moment = Life(tables, seed), MySqlSource.one_moment

    def altered_before(self: MySqlSource, name: str) -> AbstractContextManager[int]:
        if life.chance.random() < 0.3:
            life.alter("t")
        return moment(self, name)

    tables.mirror()
    with monkeypatch.context() as patched:
        patched.setattr(MySqlSource, "one_moment", altered_before)
        for _ in range(6):
            for _ in range(life.chance.randrange(1, 7)):
                life.go_on()
            life.mirror()
    tables.max_changes = 10_000
    tables.mirror()
    tables.check()

    assert tables.quarantine() == []
