"""Groups of a view: what their changed rows add and take back, or the whole group counted anew.

Memory: the values that tell the changed groups apart, beside the workspace.
"""

from __future__ import annotations

from arctic.errors import FormatError
from arctic.job.views.refresh_input import RefreshInput
from arctic.job.views.workspace import GIVEN
from arctic.views.sql_tree import quoted
from arctic.views.view_statements import COUNTED, DELTA, FRESH, IS_RECOUNTED, KNOWN, STORED


def changed_groups(given: RefreshInput) -> str:
    """Return the statement of what changed groups change in the view.

    Raises:
        FormatError: the view has not the rows that its source had.
    """
    space, statements, query = given.space, given.statements, given.query
    given.make_of_changes(DELTA, query.first, statements.changed_groups)
    names = [each.name for each in query.groups]
    touched = space.table(f"SELECT {', '.join(map(quoted, names))} FROM {DELTA}")
    if not touched.num_rows:
        for table in (FRESH, STORED):
            space.declare(table, given.plan.schema)
        return given.difference()
    given.load_stored({name: touched.column(name) for name in names})
    space.make(KNOWN, statements.merged_groups())
    space.drop(DELTA)
    lost, unknown = space.numbers(statements.checked_groups())
    if lost:
        raise FormatError(
            f"view {given.view.table.name!r} does not fit its source: {lost} groups would have "
            "less than no row; somebody may have written to it: refresh it with full=True"
        )
    if not unknown:
        space.drop(STORED)
        return statements.known_changes()
    _recount(given)
    space.make(FRESH, statements.shown_groups())
    same = " AND ".join(f"{STORED}.{quoted(n)} IS NOT DISTINCT FROM k.{quoted(n)}" for n in names)
    space.run(f"DELETE FROM {STORED} WHERE NOT EXISTS (SELECT 1 FROM {KNOWN} k WHERE {same})")
    space.drop(KNOWN, COUNTED)
    return given.difference()


def _recount(given: RefreshInput) -> None:
    """Count the groups that changes do not tell from all of their rows."""
    space, query = given.space, given.query
    names = ", ".join(quoted(each.name) for each in query.groups)
    wanted = space.table(f"SELECT {names} FROM {KNOWN} WHERE {IS_RECOUNTED}")
    among = {
        each.column[1]: wanted.column(each.name) for each in query.groups if each.column is not None
    }
    space.make_from(COUNTED, given.rows(query.first, among), given.statements.recounted(GIVEN))
