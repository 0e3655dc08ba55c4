"""Columns that changed under a view: what its table takes of them, and whether its rows still hold.

Rules:
    - A column of a source is told by its field id and its type: one that was dropped and added
      anew is another one, whatever it is called.
    - What a view said of rows that have not changed stays true where its columns are the same, or
      became a wider type of exact numbers that the statement only compares, counts and shows. Else
      all rows are computed anew.
    - A column of the view is never lowered: what cannot be widened, or is of its key, is refused.
    - A view of days loses no column: what its statement does not return any more was there once.
"""

from __future__ import annotations

from collections.abc import Mapping

from arctic.columns.promotions import promotes
from arctic.errors import InvalidInputError
from arctic.iceberg.tables.evolve_schema import SchemaChange
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.views.view_plan import ViewPlan
from arctic.views.view_definition import DAYS

_FLOATS = ("float", "double")

Columns = Mapping[str, Mapping[str, str]]
"""Source -> column -> its field id and type."""


def columns_read(plan: ViewPlan) -> Columns:
    """Return what the columns are that a view reads of its sources."""
    if plan.statements is None:
        return {name: each.described() for name, each in plan.sources.items()}
    query = plan.statements.query
    return {
        each.identifier: plan.sources[each.identifier].described(query.used[each.alias])
        for each in query.sources
    }


def rows_hold(plan: ViewPlan, known: Columns, now: Columns) -> bool:
    """Say whether rows of sources that have not changed are in the view as they would be computed.

    Args:
        plan: the view.
        known: what its columns were when it was computed.
        now: what they are.
    """
    if plan.statements is None or known.keys() != now.keys():
        return known == now
    query = plan.statements.query
    return all(
        _holds(known[each.identifier].get(name), text, widens=name in query.widens[each.alias])
        for each in query.sources
        for name, text in now[each.identifier].items()
    )


def fitted_columns(view: OpenTable, plan: ViewPlan) -> SchemaChange | None:
    """Return what makes the columns of a view's table those of its statement; None: they are.

    Raises:
        InvalidInputError: a change that a table cannot take, naming the column.
    """
    own = {field.name: field.type for field in view.arrow_schema}
    wanted = {field.name: field.type for field in plan.schema}
    widened = {name: kind for name, kind in wanted.items() if own.get(name, kind) != kind}
    key = tuple(view.table.primary_key)
    for name, kind in widened.items():
        if not promotes(own[name], kind) or name in key:
            raise _unfit(view, name, str(own[name]), str(kind))
    if key != plan.key:
        name = next(iter(sorted({*key} ^ {*plan.key})), key[0] if key else plan.key[0])
        raise _unfit(
            view, name, *("of the key" if name in each else "not" for each in (key, plan.key))
        )
    gone = () if plan.definition.kind == DAYS else tuple(own.keys() - wanted.keys())
    change = SchemaChange(
        add={name: kind for name, kind in wanted.items() if name not in own},
        widen=widened,
        drop=tuple(name for name in own if name in gone),
    )
    return None if change == SchemaChange() else change


def _holds(known: str | None, now: str, *, widens: bool) -> bool:
    if known == now:
        return True
    if known is None or not widens:
        return False
    before, after = known.split(" ", 1), now.split(" ", 1)
    # Of one id, another type is a wider one; a float that became a double compares otherwise.
    return before[0] == after[0] and after[1] not in _FLOATS and "<" not in after[1]


def _unfit(view: OpenTable, name: str, own: str, wanted: str) -> InvalidInputError:
    return InvalidInputError(
        f"view {view.table.name!r}: column {name!r} is {own}, but its statement makes it {wanted} "
        "now, as a source has changed, and no table can follow that: drop the view, and "
        "materialize it anew"
    )
