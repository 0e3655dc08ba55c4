"""What a refresh computes: the changes that make the view's rows those of its statement.

Strategy: the rows of the view that may have changed are put into the workspace, as they are now
and as the view has them. Their difference is written, so rows that did not change after all are
not.
"""

from __future__ import annotations

from functools import partial

from arctic.job.views.kept.kept_groups import changed_groups
from arctic.job.views.kept.kept_history import all_history, changed_history
from arctic.job.views.kept.kept_joins import changed_joins
from arctic.job.views.refresh_input import RefreshInput
from arctic.job.views.view_plan import relation
from arctic.views.view_definition import HISTORY
from arctic.views.view_keeping import SIGN
from arctic.views.view_statements import FRESH, STORED

_SIDES = "sides"


def all_rows(given: RefreshInput) -> str:
    """Compute all rows, and load all that the view has; return the statement of the changes."""
    if given.plan.definition.kind == HISTORY:
        return all_history(given)
    space, relations = given.space, {}
    for place, source in enumerate(given.query.sources):
        space.load(relation(place), given.rows(source))
        relations[source.alias] = relation(place)
    space.make(FRESH, given.statements.whole(relations))
    space.drop(*relations.values())
    given.load_stored()
    return given.difference()


def changed_rows(given: RefreshInput) -> str:
    """Return the statement of what changes of the sources change in the view."""
    if given.plan.definition.kind == HISTORY:
        return changed_history(given)
    if given.query.is_grouped:
        return changed_groups(given)
    if given.query.join is not None:
        return changed_joins(given, given.query.join)
    return _rows_of_one(given)


def _rows_of_one(given: RefreshInput) -> str:
    """Both sides of each changed row tell both of the view's."""
    sides = partial(given.statements.sides, beside={SIGN: SIGN})
    given.make_of_changes(_SIDES, given.query.first, sides)
    for table, sign in ((FRESH, "> 0"), (STORED, "< 0")):
        given.space.show(table, f"SELECT * FROM {_SIDES} WHERE {SIGN} {sign}")
    return given.difference()
