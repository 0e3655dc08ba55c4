"""INSERT, DELETE, UPDATE, MERGE and SELECT that are drawn over the columns of a table."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

import arctic
from tests.spark.catalog.random_sql.drawn import Column
from tests.spark.catalog.random_sql.model import Clause, relation
from tests.spark.catalog.random_sql.sql_history import NAME, SQL_NAME, History, in_order


def insert(history: History, least: int = 0) -> None:
    """Upsert rows, or append them."""
    rows = history.rows(least)
    source = relation(history.model.columns, rows, "s")
    given = [history.as_row(row) for row in rows]
    outcome = history.model.insert(given, kept=history.model.rows)
    history.change(f"INSERT INTO {SQL_NAME} SELECT * FROM {source}", outcome)


def insert_more(history: History) -> None:
    """Insert a column that the table gets, or one with wider numbers than it has had."""
    columns, narrow = history.model.columns, [c for c in history.free if c.type == "INT"]
    old = history.pick.one(narrow) if narrow and history.pick.chance(50) else None
    if old is None and not history.fresh:
        return
    if old is None:
        grown = [*columns, history.new_column(history.pick.one(history.fresh), "STRING")]
    else:
        grown = [replace(each, type="BIGINT") if each is old else each for each in columns]
    history.model.columns = grown
    rows = history.rows(1)
    names = ", ".join(each.name for each in reversed(grown))
    outcome = history.model.insert([history.as_row(row) for row in rows], kept=history.model.rows)
    statement = (
        f"INSERT WITH SCHEMA EVOLUTION INTO {SQL_NAME} BY NAME "
        f"SELECT {names} FROM {relation(grown, rows, 's')}"
    )
    if not history.change(statement, outcome):
        history.model.columns = as_they_are(columns, grown)


def as_they_are(before: list[Column], grown: list[Column]) -> list[Column]:
    """Return the columns after a statement that was refused: Spark may have added them first."""
    schema = arctic.open_table(NAME).schema
    is_grown = [str(t) for t in schema.types] == [
        {"BIGINT": "int64", "INT": "int32"}.get(each.type, str(schema.field(n).type))
        for n, each in enumerate(grown[: len(schema)])
    ]
    return grown if len(schema) == len(grown) and is_grown else before


def delete(history: History) -> None:
    """Delete by a condition."""
    where = history.where()
    history.change(f"DELETE FROM {SQL_NAME} WHERE {where}", history.model.delete(where))


def update(history: History) -> None:
    """Update by a condition; keys too, now and then."""
    columns, pick = history.model.columns, history.pick
    free = [each for each in columns if each.number not in history.model.key]
    of = columns if pick.chance(30) or not free else free
    chosen = history.draw(st.lists(st.sampled_from(of), min_size=1, max_size=3, unique=True))
    values = {each.number: pick.expression(each.type, columns) for each in chosen}
    texts = ", ".join(f"{each.name} = {values[each.number]}" for each in chosen)
    where = history.where()
    outcome = history.model.update(values, where)
    history.change(f"UPDATE {SQL_NAME} SET {texts} WHERE {where}", outcome)


def select(history: History) -> None:
    """Read by a condition."""
    where = history.where()
    names = ", ".join(each.name for each in history.model.columns)
    found = history.run(f"SELECT {names} FROM {SQL_NAME} t WHERE {where}")
    asked = history.model.ask(f"SELECT {names} FROM {{t}} WHERE {where}")
    assert in_order(found) == in_order(asked)


def aggregate(history: History) -> None:
    """Count, and look for bounds."""
    column = history.pick.one(history.model.columns).name
    items = f"count(*), count({column}), min({column}), max({column})"
    found = history.run(f"SELECT {items} FROM {SQL_NAME}")
    assert in_order(found) == in_order(history.model.ask(f"SELECT {items} FROM {{t}}"))


def merge(history: History) -> None:
    """Merge rows, by the key or something else."""
    pick, model = history.pick, history.model
    before = model.columns
    evolves = history.fresh and pick.chance(10)
    if evolves:
        model.columns = [*before, history.new_column(pick.one(history.fresh), "INT")]
    target = [replace(each, side="t.") for each in before]
    # Spark 4.3 would have the table's column become as narrow, where it may change columns.
    percent = 0 if evolves else 30
    source = [_source_column(history, each, percent) for each in model.columns]
    rows = history.rows()
    if rows and pick.chance(10):
        rows.append(pick.one(rows))
    joined = {each.number for each in history.joined}
    key = [each for each in target if each.number in joined]
    equal = " AND ".join(f"t.{each.name} = s.{each.name}" for each in key)
    on = pick.one([equal, equal, equal, "more", "other", "computed"])
    if on == "more":
        on = f"{equal} AND {pick.condition([*target, *source[: len(target)]], 1)}"
    elif on == "other":
        other = pick.one(target).name
        on = f"t.{other} = s.{other}"
    elif on == "computed":
        on = " AND ".join(
            f"t.{each.name} = s.{each.name}{' + 1' if 'INT' in each.type else ''}" for each in key
        )
    clauses = _stars(history, source) if evolves else _clauses(history, target, source)
    if not clauses:
        return
    outcome = model.merge(source, rows, on, clauses)
    texts = " ".join(map(str, clauses))
    words = "WITH SCHEMA EVOLUTION INTO" if evolves else "INTO"
    given = relation(source, rows, "s")
    done = history.change(f"MERGE {words} {SQL_NAME} t USING {given} ON {on} {texts}", outcome)
    if not done and evolves:
        model.columns = as_they_are(before, model.columns)


def _source_column(history: History, column: Column, percent: int) -> Column:
    """Return a column of a source, so many times of a hundred narrower than the one it is for."""
    is_narrow = column.type == "BIGINT" and history.pick.chance(percent)
    return replace(column, side="s.", type="INT" if is_narrow else column.type)


def _stars(history: History, source: list[Column]) -> list[Clause]:
    """Return an upsert under one condition or none."""
    everything = {each.number: str(each) for each in source}
    condition = history.pick.condition(source, 1) if history.pick.chance(30) else None
    return [
        Clause(when=when, condition=condition, values=everything, text=text)
        for when, text in (("MATCHED", "UPDATE SET *"), ("NOT MATCHED", "INSERT *"))
    ]


def _clauses(history: History, target: list[Column], source: list[Column]) -> list[Clause]:
    pick = history.pick
    if pick.chance(25):
        return _stars(history, source)
    if pick.chance(25):
        return [_one_update(history, target, source)]
    clauses = []
    for when, scope in (
        ("MATCHED", [*target, *source]),
        ("NOT MATCHED", source),
        ("NOT MATCHED BY SOURCE", target),
    ):
        count = history.draw(st.integers(0, 2))
        for number in range(count):
            last = number == count - 1
            condition = None if last and pick.chance(60) else pick.condition(scope, 1)
            clauses.append(_clause(history, when, condition, scope, source))
    return clauses


def _one_update(history: History, target: list[Column], source: list[Column]) -> Clause:
    """Return an update of all rows that the source finds, to values of both as they are."""
    pick, both, values = history.pick, [*target, *source], {}
    for each in history.draw(st.lists(st.sampled_from(target), min_size=1, unique=True)):
        of = [str(other) for other in both if other.type == each.type]
        if each.number not in history.model.key and of:
            added = each.type in ("INT", "BIGINT") and pick.chance(50)
            values[each.number] = pick.one(of) + (f" + {pick.one(of)}" if added else "")
    columns = {each.number: each.name for each in history.model.columns}
    if not values:
        return _clause(history, "MATCHED", None, both, source)
    text = "UPDATE SET " + ", ".join(f"{columns[at]} = {value}" for at, value in values.items())
    return Clause(when="MATCHED", condition=None, values=values, text=text)


def _clause(
    history: History, when: str, condition: str | None, scope: list[Column], source: list[Column]
) -> Clause:
    columns, key, pick = history.model.columns, history.model.key, history.pick
    everything = {each.number: str(each) for each in source}
    if when == "NOT MATCHED":
        if pick.chance(50):
            return Clause(when=when, condition=condition, values=everything, text="INSERT *")
        must = {each.number: everything[each.number] for each in history.joined}
        free = [each for each in columns if each.number not in must]
        some = history.draw(st.lists(st.sampled_from(free), unique=True)) if free else []
        values = must | {c.number: pick.expression(c.type, scope) for c in some}
        names = [each.name for each in columns if each.number in values]
        texts = [values[each.number] for each in columns if each.number in values]
        missing = {each.number: "NULL" for each in columns if each.number not in values}
        text = f"INSERT ({', '.join(names)}) VALUES ({', '.join(texts)})"
        return Clause(when=when, condition=condition, values={**values, **missing}, text=text)
    if pick.chance(35):
        return Clause(when=when, condition=condition, values=None, text="DELETE")
    if when == "MATCHED" and pick.chance(30):
        return Clause(when=when, condition=condition, values=everything, text="UPDATE SET *")
    free = [each for each in columns if each.number not in key or pick.chance(15)]
    chosen = history.draw(
        st.lists(st.sampled_from(free or columns), min_size=1, max_size=2, unique=True)
    )
    values = {each.number: pick.expression(each.type, scope) for each in chosen}
    text = "UPDATE SET " + ", ".join(f"{e.name} = {values[e.number]}" for e in chosen)
    return Clause(when=when, condition=condition, values=values, text=text)
