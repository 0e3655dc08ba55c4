"""A table whose statements are drawn one after the other, and what it must hold after each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import note
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import arctic
from tests.spark.catalog.random_sql.drawn import TYPES, Column, Draw, Drawer
from tests.spark.catalog.random_sql.model import Model, Outcome, Row, Verdict, relation

NAME = "random.t"
SQL_NAME = f"arctic.{NAME}"
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


@dataclass(frozen=True, slots=True)
class Definition:
    """What a table is made with."""

    columns: list[Column]
    key: list[Column]
    partition: Column | None
    is_bucketed: bool
    """Whether its partitions are buckets of the values of that column."""

    @property
    def partitioned(self) -> str:
        """Return how its partitions are said."""
        if self.partition is None:
            return ""
        name = self.partition.name
        return f" PARTITIONED BY ({f'bucket(2, {name})' if self.is_bucketed else name})"


class History:
    """One table of one example."""

    def __init__(self, spark: SparkSession, draw: Draw) -> None:
        self.spark, self.pick, self.draw = spark, Drawer(draw), draw
        self.made = 0
        self.versions: dict[int, list[Row]] = {}
        """What the versions hold that can be read."""
        self.tags: dict[str, list[Row]] = {}
        self._create()

    def new_column(self, name: str, kind: str) -> Column:
        """Return a column that there has never been."""
        self.made += 1
        return Column(number=self.made, name=name, type=kind)

    def _create(self) -> None:
        kinds = self.pick.one([["BIGINT"], ["INT"], ["STRING"], ["DATE"], ["INT", "STRING"]])
        first = [self.new_column(f"k{n}", kind) for n, kind in enumerate(kinds)]
        count = self.draw(st.integers(1, 4))
        columns = [*first, *(self.new_column(n, self.pick.one(TYPES)) for n in NAMES[:count])]
        made = self.defined(columns, first if self.pick.chance(60) else [])
        self.run(f"DROP TABLE IF EXISTS {SQL_NAME}")
        self.take(made, [])
        rows = self.rows(3)
        if self.pick.chance(25) and not (made.key and any(None in row for row in rows)):
            source = relation(columns, rows, "s")
            self.run(f"CREATE TABLE {self.definition(made)} AS SELECT * FROM {source}")
            self.model.rows = [self.as_row(row) for row in rows]
        else:
            keys = "".join(f", PRIMARY KEY ({', '.join(map(str, made.key))})" for _ in made.key[:1])
            listed = ", ".join(f"{each.name} {each.type}" for each in columns)
            self.run(f"CREATE TABLE {SQL_NAME} ({listed}{keys}){made.partitioned}")

    def defined(self, columns: list[Column], key: list[Column]) -> Definition:
        """Draw the partitions of a table."""
        part = self.pick.one([None, None, "first", "other", "bucket"])
        others = [each for each in columns if each not in key]
        column = key[-1] if key and part == "first" else self.pick.one(others or columns)
        can = part is not None and column.type not in ("DOUBLE", "BOOLEAN")
        return Definition(columns, key, column if can else None, part == "bucket")

    def definition(self, made: Definition) -> str:
        """Return what stands behind CREATE TABLE where a query gives the columns."""
        names = ", ".join(each.name for each in made.key)
        key = f" TBLPROPERTIES (primaryKey = '{names}')" if names else ""
        return f"{SQL_NAME}{made.partitioned}{key}"

    def take(self, made: Definition, rows: list[Row]) -> None:
        """Begin with a table."""
        self.model = Model(made.columns, [each.number for each in made.key])
        self.model.rows = rows
        self.made_with = made
        self.versions.clear()
        self.tags.clear()

    @property
    def partition(self) -> Column | None:
        """Return the column whose values are partitions, as it is now."""
        made = self.made_with
        if made.partition is None or made.is_bucketed:
            return None
        return next(each for each in self.model.columns if each.number == made.partition.number)

    @property
    def joined(self) -> list[Column]:
        """Return the columns by which rows are thought of as the same: the key, or one."""
        columns = self.model.columns
        return [each for each in columns if each.number in self.model.key] or columns[:1]

    @property
    def free(self) -> list[Column]:
        """Return the columns that are neither of the key nor of a partition."""
        bound = {*self.model.key}
        if self.made_with.partition is not None:
            bound.add(self.made_with.partition.number)
        return [each for each in self.model.columns if each.number not in bound]

    @property
    def fresh(self) -> list[str]:
        """Return names that no column has."""
        used = {each.name.lower() for each in self.model.columns}
        return [name for name in NAMES if name.lower() not in used]

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""
        note(statement)
        return [tuple(row) for row in self.spark.sql(statement).collect()]

    def remember(self) -> None:
        """Keep what the newest version holds."""
        numbers = arctic.open_table(NAME).versions().column("version").to_pylist()
        self.versions = {n: rows for n, rows in self.versions.items() if n in numbers}
        if numbers:
            self.versions[numbers[-1]] = self.model.rows

    def looks_right(self) -> None:
        """The rows are those of the model."""
        found = [tuple(row.values()) for row in arctic.read(NAME).read_all().to_pylist()]
        assert in_order(found) == in_order(self.model.now())

    def change(self, statement: str, outcome: Outcome) -> bool:
        """Run a statement that changes rows, or is refused by name; return whether it was not."""
        said = self._refusal(statement)
        if said is None:
            assert outcome.refused is not Verdict.MUST, "not refused"
            self.model.rows = outcome.rows
            return True
        note(f"refused: {said[:300]}")
        assert "Traceback" not in said
        assert any(word in said for word in NAMED), said
        assert outcome.refused is not Verdict.NEVER, said
        return False

    def _refusal(self, statement: str) -> str | None:
        try:
            self.run(statement)
        except PySparkException as error:
            return str(error)
        return None

    def rows(
        self, least: int = 0, *, fixed: tuple[int, Any] | None = None
    ) -> list[tuple[Any, ...]]:
        """Draw rows with different keys, few of which are null; one column may be given."""
        columns, key = self.model.columns, self.model.key
        rows: dict[Any, tuple[Any, ...]] = {}
        for number in range(self.draw(st.integers(least, 6 + least))):
            row = {
                each.number: self.pick.value(each.type, nulls=1 if each.number in key else 20)
                for each in columns
            }
            if fixed is not None:
                row[fixed[0]] = fixed[1]
            rows[tuple(row[n] for n in key) if key else number] = tuple(row.values())
        found = list(rows.values())
        return [*found, found[0]] if found and not key and self.pick.chance(20) else found

    def as_row(self, row: Sequence[Any]) -> Row:
        """Return values by the numbers of their columns."""
        return {each.number: value for each, value in zip(self.model.columns, row, strict=True)}

    def where(self) -> str:
        """Draw a condition of rows of the table."""
        if not self.pick.chance(15):
            return self.pick.condition(self.model.columns)
        column = self.pick.one(self.model.columns)
        asked = [replace(column, name="w")]
        rows = [(self.pick.value(column.type),) for _ in range(3)]
        word = self.pick.one(["", "NOT "])
        return f"{column} {word}IN (SELECT w FROM {relation(asked, rows, 's')})"

    def close(self) -> None:
        """Let the oracle go."""
        self.model.close()
