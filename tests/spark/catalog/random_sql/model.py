"""What a table must hold after a statement: rows by the numbers of columns, expressions by DuckDB.

A statement is refused where two rows would have one key or a key would be null. Where Spark and a
MERGE that reads nothing differ in how strict they are, either is right: ``Verdict.MAY``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import duckdb

from tests.spark.catalog.random_sql.drawn import Column, literal

Row = dict[int, Any]
"""Values by the numbers of their columns; what is not there is null."""


class Verdict(Enum):
    """Whether a statement is refused."""

    NEVER = "never"
    MAY = "may"
    MUST = "must"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What becomes of a statement."""

    rows: list[Row]
    """If it is not refused."""
    refused: Verdict = Verdict.NEVER


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One WHEN of a MERGE."""

    when: str
    """``MATCHED``, ``NOT MATCHED`` or ``NOT MATCHED BY SOURCE``."""
    condition: str | None
    values: dict[int, str] | None
    """What is set or inserted, by column; None: the row is deleted."""
    text: str
    """What stands behind THEN."""

    def __str__(self) -> str:
        """Return it as SQL."""
        condition = "" if self.condition is None else f" AND {self.condition}"
        return f"WHEN {self.when}{condition} THEN {self.text}"


def relation(columns: Sequence[Column], rows: Sequence[Sequence[Any]], name: str) -> str:
    """Return rows as a relation that both engines read."""
    names = ", ".join(each.name for each in columns)
    if not rows:
        nothing = ", ".join(literal(None, each.type) for each in columns)
        return f"(SELECT * FROM (VALUES ({nothing})) AS z({names}) WHERE false) {name}"
    lines = (
        ", ".join(literal(value, each.type) for value, each in zip(row, columns, strict=True))
        for row in rows
    )
    return (
        f"(SELECT * FROM (VALUES {', '.join(f'({line})' for line in lines)}) AS z({names})) {name}"
    )


class Model:
    """A table; one without a key holds a bag of rows."""

    def __init__(self, columns: list[Column], key: Sequence[int]) -> None:
        self.columns = columns
        self.key = tuple(key)
        self.rows: list[Row] = []
        self._duckdb = duckdb.connect()

    def close(self) -> None:
        """Let the oracle go."""
        self._duckdb.close()

    def now(self, rows: Iterable[Row] | None = None) -> list[tuple[Any, ...]]:
        """Return rows as the columns are now."""
        found = self.rows if rows is None else rows
        return [tuple(row.get(each.number) for each in self.columns) for row in found]

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Return what a query over ``{t}`` gives."""
        numbered = [Column(number=-1, name="row_number_", type="BIGINT"), *self.columns]
        rows = [(number, *row) for number, row in enumerate(self.now())]
        table = relation(numbered, rows, "t")
        return self._duckdb.execute(query.replace("{t}", table)).fetchall()

    def _checked(self, rows: list[Row], *, may: bool = False) -> Outcome:
        keys = [tuple(row.get(number) for number in self.key) for row in rows] if self.key else []
        wrong = len(set(keys)) < len(keys) or any(None in key for key in keys)
        otherwise = Verdict.MAY if may else Verdict.NEVER
        return Outcome(rows=rows, refused=Verdict.MUST if wrong else otherwise)

    def insert(self, rows: list[Row], *, kept: list[Row]) -> Outcome:
        """Take rows whose keys differ, beside those of before that are kept."""
        if any(row.get(number) is None for row in rows for number in self.key):
            return Outcome(rows=[], refused=Verdict.MUST)
        if not self.key:
            return Outcome(rows=[*kept, *rows])
        given = {tuple(row[number] for number in self.key): row for row in rows}
        others = [row for row in kept if tuple(row[n] for n in self.key) not in given]
        return Outcome(rows=[*others, *given.values()])

    def delete(self, condition: str) -> Outcome:
        """Remove the rows of a condition."""
        gone = {
            number for (number,) in self.ask(f"SELECT row_number_ FROM {{t}} WHERE {condition}")
        }
        return Outcome(rows=[row for n, row in enumerate(self.rows) if n not in gone])

    def update(self, values: dict[int, str], condition: str) -> Outcome:
        """Change the rows of a condition."""
        query = f"SELECT row_number_, {', '.join(values.values())} FROM {{t}} WHERE {condition}"
        found = {number: row for number, *row in self.ask(query)}
        return self._checked(
            [
                {**row, **dict(zip(values, found[n], strict=True))} if n in found else row
                for n, row in enumerate(self.rows)
            ]
        )

    def merge(
        self,
        source: Sequence[Column],
        given: Sequence[Sequence[Any]],
        on: str,
        clauses: Sequence[Clause],
    ) -> Outcome:
        """Apply the first clause of its kind that is true to each row."""
        plain = [Column(number=-2, name="source_number_", type="BIGINT"), *source]
        rows = [(number, *row) for number, row in enumerate(given)]
        other = relation(plain, rows, "s")
        matched = [each for each in clauses if each.when == "MATCHED"]
        lacking = [each for each in clauses if each.when == "NOT MATCHED"]
        left = [each for each in clauses if each.when == "NOT MATCHED BY SOURCE"]
        pairs = self._acts(f"{{t}} JOIN {other} ON {on}", "row_number_, source_number_", matched)
        found: dict[int, list[tuple[Clause | None, Row]]] = {}
        for (number, _), clause, row in pairs:
            found.setdefault(number, []).append((clause, row))
        several = [each for each in found.values() if len(each) > 1]
        deletes = len(matched) == 1 and matched[0].values is None and matched[0].condition is None
        acting = any(sum(clause is not None for clause, _ in each) > 1 for each in several)
        seen = {number for (_, number), _, _ in pairs}
        alone = self._acts(
            f"{{t}} WHERE NOT EXISTS (SELECT 1 FROM {other} WHERE {on})", "row_number_, 0", left
        )
        new = self._acts(other, "source_number_, 0", lacking)
        changes = {number: each[0] for number, each in found.items()}
        changes.update({number: (clause, row) for (number, _), clause, row in alone})
        result = []
        for number, stored in enumerate(self.rows):
            clause, row = changes.get(number, (None, {}))
            if clause is None:
                result.append(stored)
            elif clause.values is not None:
                result.append({**stored, **row})
        result += [
            row for (number, _), clause, row in new if clause is not None and number not in seen
        ]
        if matched and not deletes and several:
            return Outcome(rows=result, refused=Verdict.MUST if acting else Verdict.MAY)
        keys = [tuple(row[: len(self.key)]) for row in given] if self.key else []
        return self._checked(result, may=len(set(keys)) < len(keys))

    def _acts(
        self, relations: str, numbers: str, clauses: Sequence[Clause]
    ) -> list[tuple[tuple[int, int], Clause | None, Row]]:
        """Return which clause is true for each row, and what it makes of it."""
        items = [numbers]
        for clause in clauses:
            items.append(clause.condition or "true")
            items += (clause.values or {}).values()
        made = []
        for first, second, *values in self.ask(f"SELECT {', '.join(items)} FROM {relations}"):
            chosen, row, at = None, {}, 0
            for clause in clauses:
                wanted = clause.values or {}
                if chosen is None and values[at] is True:
                    chosen = clause
                    row = dict(zip(wanted, values[at + 1 :], strict=False))
                at += 1 + len(wanted)
            made.append(((first, second), chosen, row))
        return made
