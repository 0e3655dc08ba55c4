"""Statements about all of a table or whole partitions of it, and about its columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.spark.catalog.random_sql.drawn import TYPES, constant, literal
from tests.spark.catalog.random_sql.model import Outcome, Row, relation
from tests.spark.catalog.random_sql.sql_history import SQL_NAME, History
from tests.spark.lake import with_settings


def overwrite(history: History) -> None:
    """Replace all rows."""
    rows = history.rows()
    source = relation(history.model.columns, rows, "s")
    outcome = history.model.insert([history.as_row(row) for row in rows], kept=[])
    history.change(f"INSERT OVERWRITE {SQL_NAME} SELECT * FROM {source}", outcome)


def overwrite_own(history: History) -> None:
    """Replace all rows by some of them."""
    where = history.where()
    names = ", ".join(each.name for each in history.model.columns)
    outcome = history.model.delete(f"NOT coalesce({where}, false)")
    history.change(
        f"INSERT OVERWRITE {SQL_NAME} SELECT {names} FROM {SQL_NAME} WHERE {where}", outcome
    )


def truncate(history: History) -> None:
    """Leave no row."""
    history.change(f"TRUNCATE TABLE {SQL_NAME}", Outcome(rows=[]))


def overwrite_partitions(history: History) -> None:
    """Replace the partitions for which there are rows."""
    column = history.partition
    if column is None or not _decided(history):
        return
    rows = history.rows()
    given = [history.as_row(row) for row in rows]
    gone = [row[column.number] for row in given]
    source = relation(history.model.columns, rows, "s")
    with with_settings(history.spark, {"spark.sql.sources.partitionOverwriteMode": "dynamic"}):
        history.change(
            f"INSERT OVERWRITE {SQL_NAME} SELECT * FROM {source}",
            history.model.insert(given, kept=_outside(history, column.number, gone)),
        )


def overwrite_partition(history: History) -> None:
    """Replace the partition of a value that the statement says, in one of two grammars."""
    column = history.partition
    if column is None or not _decided(history):
        return
    value = history.pick.value(column.type, nulls=0 if column.number in history.model.key else 15)
    rows = history.rows(fixed=(column.number, value))
    outcome = history.model.insert(
        [history.as_row(row) for row in rows], kept=_outside(history, column.number, [value])
    )
    columns = history.model.columns
    source = relation(columns, rows, "s")
    if history.pick.chance(50):
        names = ", ".join(each.name for each in columns if each is not column)
        said = f"{column.name} = {constant(value, column.type)}"
        statement = f"INSERT OVERWRITE {SQL_NAME} PARTITION ({said}) SELECT {names} FROM {source}"
    else:
        same = "IS NULL" if value is None else f"= {literal(value, column.type)}"
        said = f"{column.name} {same}"
        statement = f"INSERT INTO {SQL_NAME} REPLACE WHERE {said} SELECT * FROM {source}"
    history.change(statement, outcome)


def _decided(history: History) -> bool:
    """Whether a row of a key has one partition that it can be in."""
    made = history.made_with
    return not made.key or made.partition in made.key


def _outside(history: History, number: int, values: list[Any]) -> list[Row]:
    return [row for row in history.model.rows if row.get(number) not in values]


def recreate(history: History) -> None:
    """Make the table anew out of its own rows, with other columns, partitions and key."""
    pick, where = history.pick, history.where()
    kept = [each for each in history.model.columns if each.number in history.model.key]
    others = [each for each in history.model.columns if each not in kept]
    chosen = [*kept, *(each for each in others if pick.chance(80))] or others
    asked = ", ".join(f"{each.name} AS {each.name}" for each in chosen)
    found = history.model.delete(f"NOT coalesce({where}, false)").rows
    columns = [history.new_column(each.name, each.type) for each in chosen]
    numbers = [(new.number, old.number) for new, old in zip(columns, chosen, strict=True)]
    key = columns[: len(kept)] if pick.chance(70) else []
    made = history.defined(columns, key)
    words = pick.one(["CREATE OR REPLACE", "REPLACE"])
    history.run(
        f"{words} TABLE {history.definition(made)} AS SELECT {asked} FROM {SQL_NAME} WHERE {where}"
    )
    history.model.close()
    history.take(made, [{new: row.get(old) for new, old in numbers} for row in found])


def alter(history: History) -> None:
    """Add, rename, widen or drop a column that is neither of the key nor of a partition."""
    columns, table = history.model.columns, f"ALTER TABLE {SQL_NAME}"
    fresh, free = history.fresh, history.free
    how = history.pick.one(["add", "rename", "drop", "widen"])
    old = history.pick.one(free) if free else None
    if how == "add" and fresh:
        column = history.new_column(history.pick.one(fresh), history.pick.one(TYPES))
        history.run(f"{table} ADD COLUMN {column.name} {column.type}")
        columns = [*columns, column]
    elif how == "rename" and fresh and old:
        new = replace(old, name=history.pick.one(fresh))
        history.run(f"{table} RENAME COLUMN {old.name} TO {new.name}")
        columns = [new if each is old else each for each in columns]
    elif how == "widen" and old and old.type == "INT":
        history.run(f"{table} ALTER COLUMN {old.name} TYPE BIGINT")
        columns = [replace(each, type="BIGINT") if each is old else each for each in columns]
    elif how == "drop" and old and len(columns) > 1:
        history.run(f"{table} DROP COLUMN {old.name}")
        columns = [each for each in columns if each is not old]
    history.model.columns = columns
