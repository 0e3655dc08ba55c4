"""Groups of a view: what their changed rows add and take back, or the whole group counted anew.

Memory: the values that tell the changed groups apart, beside the workspace.
"""

from __future__ import annotations

from arctic.errors import FormatError
from arctic.job.views.refresh_input import RefreshInput
from arctic.views.sql_tree import quoted
from arctic.views.view_statements import (
    CHANGED,
    COUNTED,
    DELTA,
    FRESH,
    KNOWN,
    RECOUNT,
    STORED,
)

_GIVEN = "given"


def changed_groups(given: RefreshInput) -> None:
    """Compute the groups that changed.

    Raises:
        FormatError: the view has not the rows that its source had.
    """
    space, statements, query = given.space, given.statements, given.query
    given.load_changes(query.first, CHANGED)
    space.make(DELTA, statements.changed_groups())
    space.drop(CHANGED)
    names = [each.name for each in query.groups]
    touched = space.table(f"SELECT {', '.join(map(quoted, names))} FROM {DELTA}")
    given.load_stored({name: touched.column(name) for name in names})
    same = " AND ".join(f"{STORED}.{quoted(n)} IS NOT DISTINCT FROM d.{quoted(n)}" for n in names)
    space.run(f"DELETE FROM {STORED} WHERE NOT EXISTS (SELECT 1 FROM {DELTA} d WHERE {same})")
    space.make(KNOWN, statements.merged_groups())
    space.drop(DELTA)
    lost = space.number(statements.lost_groups())
    if lost:
        raise FormatError(
            f"view {given.view.table.name!r} does not fit its source: {lost} groups would have "
            "less than no row; somebody may have written to it: refresh it with full=True"
        )
    _recount(given)
    space.make(FRESH, statements.shown_groups())
    space.drop(KNOWN, COUNTED)


def _recount(given: RefreshInput) -> None:
    """Count the groups that changes do not tell from all of their rows."""
    space, query = given.space, given.query
    names = ", ".join(quoted(each.name) for each in query.groups)
    wanted = space.table(f"SELECT {names} FROM {KNOWN} WHERE {RECOUNT}")
    statement = given.statements.recounted(_GIVEN)
    if not wanted.num_rows:
        space.declare(_GIVEN, given.schema(query.first))
        space.make(COUNTED, statement)
        space.drop(_GIVEN)
        return
    among = {
        each.column[1]: wanted.column(each.name) for each in query.groups if each.column is not None
    }
    space.make_from(COUNTED, given.rows(query.first, among), statement)
