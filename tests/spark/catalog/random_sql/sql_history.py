"""A table whose statements are drawn one after the other, and what it must hold after each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import note
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import arctic
from tests.spark.catalog.random_sql.drawn import TYPES, Column, Draw, Drawer
from tests.spark.catalog.random_sql.model import Clause, Model, Outcome, Row, Verdict, relation

NAME = "random.t"
SQL_NAME = f"arctic.{NAME}"
EVERYTHING_DUE = {
    "self-optimizing.min-plan-interval": "0",
    "self-optimizing.minor.trigger.file-count": "1",
}
NAMES = ["n", "m", "note", "tag", "x", "day", "flag", "N2"]
NAMED = [
    "several rows have the key",
    "is there already",
    "MERGE_CARDINALITY_VIOLATION",
    "NOT_NULL_ASSERT_VIOLATION",
]
"""One of these is said of each statement that is refused."""


def in_order(rows: Sequence[Sequence[Any]]) -> list[str]:
    """Return rows as texts, in which NaN equals NaN."""
    return sorted(repr(tuple(row)) for row in rows)


class History:
    """One table of one example."""

    def __init__(self, spark: SparkSession, draw: Draw) -> None:
        self.spark, self.pick = spark, Drawer(draw)
        self.draw = draw
        self.made = 0
        self.partitioned: list[str] = []
        self.model = self._create()
        self.versions: dict[int, list[Row]] = {}
        self._remember()

    def _column(self, name: str, kind: str) -> Column:
        self.made += 1
        return Column(number=self.made, name=name, type=kind)

    def _create(self) -> Model:
        kinds = self.pick.one([["BIGINT"], ["INT"], ["STRING"], ["DATE"], ["INT", "STRING"]])
        key = [self._column(f"k{n}", kind) for n, kind in enumerate(kinds)]
        count = self.draw(st.integers(1, 4))
        others = [self._column(name, self.pick.one(TYPES)) for name in NAMES[:count]]
        part = self.pick.one([None, None, "key", "other", "bucket"])
        name = key[-1].name if part == "key" else others[0].name
        can = others[0].type not in ("DOUBLE", "BOOLEAN") or part == "key"
        self.partitioned = [name] if part and can else []
        by = f"bucket(2, {name})" if part == "bucket" else name
        columns = [*key, *others]
        listed = ", ".join(f"{each.name} {each.type}" for each in columns)
        partitions = f" PARTITIONED BY ({by})" if self.partitioned else ""
        self._run(f"DROP TABLE IF EXISTS {SQL_NAME}")
        keys = ", ".join(each.name for each in key)
        self._run(f"CREATE TABLE {SQL_NAME} ({listed}, PRIMARY KEY ({keys})){partitions}")
        return Model(columns, [each.number for each in key])

    def _run(self, statement: str) -> list[tuple[Any, ...]]:
        note(statement)
        return [tuple(row) for row in self.spark.sql(statement).collect()]

    def _remember(self) -> None:
        """Keep what the newest version holds."""
        numbers = arctic.open_table(NAME).versions().column("version").to_pylist()
        if numbers:
            self.versions[numbers[-1]] = self.model.rows

    def step(self) -> None:
        """Run one statement that is drawn, and look."""
        steps: list[Callable[[], None]] = [
            self.insert, self.insert, self.overwrite, self.delete, self.update, self.update,
            self.merge, self.merge, self.merge, self.merge, self.alter, self.optimize,
            self.select, self.aggregate, *([self.restore, self.travel] if self.versions else []),
        ]  # fmt: skip
        self.pick.one(steps)()
        self.looks_right()
        self._remember()

    def looks_right(self) -> None:
        """The rows are those of the model."""
        found = [tuple(row.values()) for row in arctic.read(NAME).read_all().to_pylist()]
        assert in_order(found) == in_order(self.model.now())

    def change(self, statement: str, outcome: Outcome) -> None:
        """Run a statement that changes rows, or is refused by name."""
        said = self._refusal(statement)
        if said is None:
            assert outcome.refused is not Verdict.MUST, "not refused"
            self.model.rows = outcome.rows
            return
        note(f"refused: {said[:300]}")
        assert "Traceback" not in said
        assert any(word in said for word in NAMED), said
        assert outcome.refused is not Verdict.NEVER, said

    def _refusal(self, statement: str) -> str | None:
        try:
            self._run(statement)
        except PySparkException as error:
            return str(error)
        return None

    def _rows(self, least: int = 0) -> list[tuple[Any, ...]]:
        """Draw rows with different keys, few of which are null."""
        count = self.draw(st.integers(least, 6 + least))
        rows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for _ in range(count):
            row = tuple(
                self.pick.value(each.type, nulls=1 if each.number in self.model.key else 20)
                for each in self.model.columns
            )
            rows[row[: len(self.model.key)]] = row
        return list(rows.values())

    def _as_row(self, row: Sequence[Any]) -> Row:
        return {each.number: value for each, value in zip(self.model.columns, row, strict=True)}

    def begin(self) -> None:
        """Have some rows to speak of."""
        self.insert(least=3)
        self.looks_right()
        self._remember()

    def insert(self, least: int = 0) -> None:
        """Upsert rows."""
        rows = self._rows(least)
        relation_ = relation(self.model.columns, rows, "s")
        outcome = self.model.insert([self._as_row(row) for row in rows], replaces=False)
        self.change(f"INSERT INTO {SQL_NAME} SELECT * FROM {relation_}", outcome)

    def overwrite(self) -> None:
        """Replace all rows."""
        rows = self._rows()
        relation_ = relation(self.model.columns, rows, "s")
        outcome = self.model.insert([self._as_row(row) for row in rows], replaces=True)
        self.change(f"INSERT OVERWRITE {SQL_NAME} SELECT * FROM {relation_}", outcome)

    def delete(self) -> None:
        """Delete by a condition."""
        where = self._where()
        self.change(f"DELETE FROM {SQL_NAME} WHERE {where}", self.model.delete(where))

    def _where(self) -> str:
        if not self.pick.chance(15):
            return self.pick.condition(self.model.columns)
        column = self.pick.one(self.model.columns)
        asked = [replace(column, name="w")]
        rows = [(self.pick.value(column.type),) for _ in range(3)]
        word = self.pick.one(["", "NOT "])
        return f"{column} {word}IN (SELECT w FROM {relation(asked, rows, 's')})"

    def update(self) -> None:
        """Update by a condition; keys too, now and then."""
        columns = self.model.columns
        free = [each for each in columns if each.number not in self.model.key]
        of = columns if self.pick.chance(30) or not free else free
        chosen = self.draw(st.lists(st.sampled_from(of), min_size=1, max_size=3, unique=True))
        values = {each.number: self.pick.expression(each.type, columns) for each in chosen}
        texts = ", ".join(f"{each.name} = {values[each.number]}" for each in chosen)
        where = self._where()
        outcome = self.model.update(values, where)
        self.change(f"UPDATE {SQL_NAME} SET {texts} WHERE {where}", outcome)

    def merge(self) -> None:
        """Merge rows, by the key or something else."""
        target = [replace(each, side="t.") for each in self.model.columns]
        source = [self._source_column(each) for each in self.model.columns]
        rows = self._rows()
        if rows and self.pick.chance(10):
            rows.append(self.pick.one(rows))
        key = " AND ".join(
            f"t.{each.name} = s.{each.name}" for each in target if each.number in self.model.key
        )
        on = self.pick.one([key, key, key, "more", "other", "computed"])
        if on == "more":
            on = f"{key} AND {self.pick.condition([*target, *source], 1)}"
        elif on == "other":
            other = self.pick.one(target).name
            on = f"t.{other} = s.{other}"
        elif on == "computed":
            on = " AND ".join(
                f"t.{each.name} = s.{each.name}{' + 1' if 'INT' in each.type else ''}"
                for each in target
                if each.number in self.model.key
            )
        clauses = self._clauses(target, source)
        if not clauses:
            return
        outcome = self.model.merge(source, rows, on, clauses)
        texts = " ".join(map(str, clauses))
        given = relation(source, rows, "s")
        self.change(f"MERGE INTO {SQL_NAME} t USING {given} ON {on} {texts}", outcome)

    def _source_column(self, column: Column) -> Column:
        """Return a column of a source, now and then narrower than the one it is for."""
        is_narrow = column.type == "BIGINT" and self.pick.chance(30)
        return replace(column, side="s.", type="INT" if is_narrow else column.type)

    def _clauses(self, target: list[Column], source: list[Column]) -> list[Clause]:
        clauses = []
        everything = {each.number: str(each) for each in source}
        if self.pick.chance(25):
            condition = self.pick.condition(source, 1) if self.pick.chance(30) else None
            for when, text in (("MATCHED", "UPDATE SET *"), ("NOT MATCHED", "INSERT *")):
                clauses.append(Clause(when=when, condition=condition, values=everything, text=text))
            return clauses
        for when, scope in (
            ("MATCHED", [*target, *source]),
            ("NOT MATCHED", source),
            ("NOT MATCHED BY SOURCE", target),
        ):
            count = self.draw(st.integers(0, 2))
            for number in range(count):
                last = number == count - 1
                condition = None if last and self.pick.chance(60) else self.pick.condition(scope, 1)
                clauses.append(self._clause(when, condition, scope, everything))
        return clauses

    def _clause(
        self, when: str, condition: str | None, scope: list[Column], everything: dict[int, str]
    ) -> Clause:
        columns, key = self.model.columns, self.model.key
        if when == "NOT MATCHED":
            if self.pick.chance(50):
                return Clause(when=when, condition=condition, values=everything, text="INSERT *")
            free = [each for each in columns if each.number not in key]
            some = self.draw(st.lists(st.sampled_from(free), unique=True)) if free else []
            values = {number: everything[number] for number in key}
            values.update({c.number: self.pick.expression(c.type, scope) for c in some})
            names = [each.name for each in columns if each.number in values]
            texts = [values[each.number] for each in columns if each.number in values]
            missing = {each.number: "NULL" for each in columns if each.number not in values}
            text = f"INSERT ({', '.join(names)}) VALUES ({', '.join(texts)})"
            return Clause(when=when, condition=condition, values={**values, **missing}, text=text)
        if self.pick.chance(35):
            return Clause(when=when, condition=condition, values=None, text="DELETE")
        if when == "MATCHED" and self.pick.chance(30):
            return Clause(when=when, condition=condition, values=everything, text="UPDATE SET *")
        free = [each for each in columns if each.number not in key or self.pick.chance(15)]
        chosen = self.draw(
            st.lists(st.sampled_from(free or columns), min_size=1, max_size=2, unique=True)
        )
        values = {each.number: self.pick.expression(each.type, scope) for each in chosen}
        text = "UPDATE SET " + ", ".join(f"{e.name} = {values[e.number]}" for e in chosen)
        return Clause(when=when, condition=condition, values=values, text=text)

    def alter(self) -> None:
        """Add, rename or drop a column that is neither of the key nor of a partition."""
        columns, table = self.model.columns, f"ALTER TABLE {SQL_NAME}"
        used = {each.name.lower() for each in columns}
        fresh = [name for name in NAMES if name.lower() not in used]
        free = [
            each
            for each in columns
            if each.number not in self.model.key and each.name not in self.partitioned
        ]
        how = self.pick.one(["add", "rename", "drop"])
        if how == "add" and fresh:
            column = self._column(self.pick.one(fresh), self.pick.one(TYPES))
            self._run(f"{table} ADD COLUMN {column.name} {column.type}")
            self.model.columns = [*columns, column]
        elif how == "rename" and fresh and free:
            old, name = self.pick.one(free), self.pick.one(fresh)
            self._run(f"{table} RENAME COLUMN {old.name} TO {name}")
            self.model.columns = [
                replace(each, name=name) if each is old else each for each in columns
            ]
        elif how == "drop" and free:
            old = self.pick.one(free)
            self._run(f"{table} DROP COLUMN {old.name}")
            self.model.columns = [each for each in columns if each is not old]

    def optimize(self) -> None:
        """Rows stay."""
        kind = self.pick.one(["minor", "major", "full"])
        note(f"optimize {kind}")
        arctic.optimize(NAME, type=kind, options=EVERYTHING_DUE)

    def restore(self) -> None:
        """An earlier version comes back, with the columns of today."""
        version = self.pick.one(list(self.versions))
        note(f"restore {version}")
        arctic.open_table(NAME).restore(version)
        self.model.rows = self.versions[version]

    def select(self) -> None:
        """Read by a condition."""
        where = self._where()
        names = ", ".join(each.name for each in self.model.columns)
        found = self._run(f"SELECT {names} FROM {SQL_NAME} t WHERE {where}")
        asked = self.model.ask(f"SELECT {names} FROM {{t}} WHERE {where}")
        assert in_order(found) == in_order(asked)

    def aggregate(self) -> None:
        """Count, and look for bounds."""
        column = self.pick.one(self.model.columns).name
        items = f"count(*), count({column}), min({column}), max({column})"
        found = self._run(f"SELECT {items} FROM {SQL_NAME}")
        assert in_order(found) == in_order(self.model.ask(f"SELECT {items} FROM {{t}}"))

    def travel(self) -> None:
        """Read a version as it was, with the columns of today."""
        version = self.pick.one(list(self.versions))
        names = ", ".join(each.name for each in self.model.columns)
        found = self._run(f"SELECT {names} FROM {SQL_NAME} VERSION AS OF {version}")
        assert in_order(found) == in_order(self.model.now(self.versions[version]))

    def close(self) -> None:
        """Let the oracle go."""
        self.model.close()
