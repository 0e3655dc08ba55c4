"""Rows of a join, computed anew where either side of them changed.

A row of the view is a row of the first table with at most one of the second. So the rows that may
have changed are those whose first row changed, and those whose first row names a second that did.

Memory: the keys of these, beside the workspace.
"""

from __future__ import annotations

from collections.abc import Iterable

from arctic.job.views.refresh_input import RefreshInput
from arctic.job.views.workspace import GIVEN
from arctic.views.sql_tree import quoted
from arctic.views.view_keeping import SIGN
from arctic.views.view_query import Join
from arctic.views.view_statements import CHANGED, FRESH, STORED

_FIRSTS, _SECONDS, _TOUCHED = "firsts", "seconds", "touched"
_CHANGED_SECOND = "changed_second"


def changed_joins(given: RefreshInput, join: Join) -> str:
    """Return the statement of what changes of either side change in the view."""
    space = given.space
    given.load_changes(join.first, CHANGED)
    given.load_changes(join.second, _CHANGED_SECOND)
    _load_firsts(given, join)
    _load_seconds(given, join)
    relations = {join.first.alias: _FIRSTS, join.second.alias: _SECONDS}
    space.make(FRESH, given.statements.whole(relations))
    key = _listed(join.first.key)
    space.make(_TOUCHED, f"SELECT {key} FROM {CHANGED} UNION SELECT {key} FROM {_FIRSTS}")
    space.drop(CHANGED, _CHANGED_SECOND, _FIRSTS, _SECONDS)
    touched = space.table(f"SELECT * FROM {_TOUCHED}")
    own = dict(zip(given.query.key, join.first.key, strict=True))
    given.load_stored({name: touched.column(of) for name, of in own.items()})
    same = " AND ".join(f"{STORED}.{quoted(name)} = t.{quoted(of)}" for name, of in own.items())
    space.run(f"DELETE FROM {STORED} WHERE NOT EXISTS (SELECT 1 FROM {_TOUCHED} t WHERE {same})")
    space.drop(_TOUCHED)
    return given.difference()


def _load_firsts(given: RefreshInput, join: Join) -> None:
    """Load the first rows that changed, and those of changed second rows."""
    space, columns = given.space, _listed(given.columns(join.first))
    space.make(_FIRSTS, f"SELECT {columns} FROM {CHANGED} WHERE {SIGN} > 0")
    names = [of for _, of in join.columns]
    values = space.table(f"SELECT DISTINCT {_listed(names)} FROM {_CHANGED_SECOND}")
    if not values.num_rows:
        return
    among = {name: values.column(of) for name, of in join.columns}
    of_second = " AND ".join(f"c.{quoted(of)} = g.{quoted(name)}" for name, of in join.columns)
    is_there = " AND ".join(f"c.{quoted(name)} = g.{quoted(name)}" for name in join.first.key)
    space.fill_from(
        _FIRSTS,
        given.rows(join.first, among),
        f"SELECT {columns} FROM {GIVEN} g "
        f"WHERE EXISTS (SELECT 1 FROM {_CHANGED_SECOND} c WHERE {of_second}) "
        f"AND NOT EXISTS (SELECT 1 FROM {CHANGED} c WHERE {is_there})",
    )


def _load_seconds(given: RefreshInput, join: Join) -> None:
    """Load the second rows that these name."""
    space = given.space
    names = [name for name, _ in join.columns]
    values = space.table(
        f"SELECT DISTINCT {_listed(names)} FROM {_FIRSTS} "
        f"WHERE {' AND '.join(f'{quoted(name)} IS NOT NULL' for name in names)}"
    )
    space.declare(_SECONDS, given.schema(join.second))
    if not values.num_rows:
        return
    among = {of: values.column(name) for name, of in join.columns}
    named = " AND ".join(f"f.{quoted(name)} = g.{quoted(of)}" for name, of in join.columns)
    columns = _listed(given.columns(join.second))
    space.fill_from(
        _SECONDS,
        given.rows(join.second, among),
        f"SELECT {columns} FROM {GIVEN} g WHERE EXISTS (SELECT 1 FROM {_FIRSTS} f WHERE {named})",
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, names))
