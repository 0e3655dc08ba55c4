"""What a refresh computes: rows of the view as they are, and as the view has them.

Strategy: the rows of the view that may have changed are put into the workspace, as they are now
(``FRESH``) and as the view has them (``STORED``). Their difference is written, so rows that did not
change after all are not.
"""

from __future__ import annotations

from arctic.job.views.kept.kept_groups import changed_groups
from arctic.job.views.kept.kept_history import all_history, changed_history
from arctic.job.views.kept.kept_joins import changed_joins
from arctic.job.views.refresh_input import RefreshInput
from arctic.job.views.view_plan import relation
from arctic.views.view_definition import HISTORY
from arctic.views.view_statements import CHANGED, FRESH, SIGN, STORED


def all_rows(given: RefreshInput) -> None:
    """Compute all rows, and load all that the view has."""
    if given.plan.definition.kind == HISTORY:
        return all_history(given)
    space, relations = given.space, {}
    for place, source in enumerate(given.query.sources):
        space.load(relation(place), given.rows(source))
        relations[source.alias] = relation(place)
    space.make(FRESH, given.statements.whole(relations))
    space.drop(*relations.values())
    return given.load_stored()


def changed_rows(given: RefreshInput) -> None:
    """Compute the rows that changes of the sources may have changed."""
    if given.plan.definition.kind == HISTORY:
        changed_history(given)
    elif given.query.is_grouped:
        changed_groups(given)
    elif given.query.join is not None:
        changed_joins(given, given.query.join)
    else:
        _rows_of_one(given)


def _rows_of_one(given: RefreshInput) -> None:
    """Both sides of each changed row tell both of the view's."""
    source = given.query.first
    given.load_changes(source, CHANGED)
    for table, sides in ((FRESH, f"{SIGN} > 0"), (STORED, f"{SIGN} < 0")):
        relation_of = {source.alias: f"(SELECT * FROM {CHANGED} WHERE {sides})"}
        given.space.make(table, given.statements.whole(relation_of))
    given.space.drop(CHANGED)
