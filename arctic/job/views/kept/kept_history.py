"""The history of rows of a table, kept up: a row of the view for each version of a row (SCD 2).

Strategy: what went and what came lies in two tables, each with the number and the time of its
commit. A version ends where the next thing of its key goes.

Rules:
    - A commit makes at most one version of a row, and none where what the view says of it is the
      same.
    - What was not seen is not known: where all is computed anew, what happened since the last
      refresh counts as one change of the newest commit. What such a change says of a version of
      that very commit replaces it.
    - Versions of a key come one after the other by their numbers, which never go back: those of a
      source that was made anew, or rolled back, are counted on from the last that was known.

Memory: the keys of what went, beside the workspace.
"""

from __future__ import annotations

from functools import partial

from arctic.job.views.refresh_input import RefreshInput
from arctic.job.views.source_rows import COMMIT_TIMESTAMP, COMMIT_VERSION
from arctic.views.sql_tree import quoted
from arctic.views.view_keeping import SIGN
from arctic.views.view_query import IS_CURRENT, VALID_FROM, VALID_TO, VERSION
from arctic.views.view_statements import CHANGED, FRESH, STORED

_OPENS, _CLOSES, _SIDES, _NOW = "opens", "closes", "sides", "now_rows"
_AT = "_arctic_at"


def changed_history(given: RefreshInput) -> str:
    """Return the statement of what changes of the source change in the view."""
    space, source = given.space, given.query.first
    number = given.version(source, COMMIT_VERSION)
    beside = {SIGN: SIGN, VERSION: number, _AT: COMMIT_TIMESTAMP}
    sides = partial(given.statements.sides, beside=beside)
    given.make_of_changes(_SIDES, source, sides, COMMIT_VERSION, COMMIT_TIMESTAMP)
    same = f"{_same_key(given, 'o', 's')} AND o.{VERSION} = s.{VERSION} AND {_same(given)}"
    for table, sign in ((_OPENS, 1), (_CLOSES, -1)):
        space.make(
            table,
            f"SELECT * EXCLUDE ({SIGN}) FROM {_SIDES} s WHERE {SIGN} = {sign} AND NOT EXISTS "
            f"(SELECT 1 FROM {_SIDES} o WHERE o.{SIGN} = {-sign} AND {same})",
        )
    space.drop(_SIDES)
    touched = space.table(f"SELECT DISTINCT {_key(given)} FROM {_CLOSES}")
    given.load_stored({name: touched.column(name) for name in given.query.key})
    space.run(
        f"DELETE FROM {STORED} s WHERE NOT {IS_CURRENT} OR NOT EXISTS "
        f"(SELECT 1 FROM {_CLOSES} o WHERE {_same_key(given, 'o', 's')})"
    )
    _end_versions(given, f"SELECT {_columns(given)}, {VERSION}, {VALID_FROM} FROM {STORED}")
    return given.difference()


def all_history(given: RefreshInput) -> str:
    """Return the same of what differs from current versions, as one change of the newest commit."""
    space, source = given.space, given.query.first
    number, committed_ms = given.newest_commit(source)
    at = f"{number} AS {VERSION}, make_timestamptz({committed_ms} * 1000) AS {_AT}"
    space.load(CHANGED, given.rows(source))
    space.make(_NOW, given.statements.whole({source.alias: CHANGED}))
    space.drop(CHANGED)
    given.load_stored()
    space.run(f"DELETE FROM {STORED} WHERE NOT {IS_CURRENT}")
    same = f"{_same_key(given, 'o', 's')} AND {_same(given)}"
    for table, own, other in ((_OPENS, _NOW, STORED), (_CLOSES, STORED, _NOW)):
        space.make(
            table,
            f"SELECT {_columns(given)}, {at} FROM {own} s WHERE NOT EXISTS "
            f"(SELECT 1 FROM {other} o WHERE {same})",
        )
    space.drop(_NOW)
    corrected = f"EXISTS (SELECT 1 FROM {_CLOSES} o WHERE {_same_key(given, 'o', 's')})"
    _end_versions(
        given,
        f"SELECT {_columns(given)}, {VERSION}, {VALID_FROM} FROM {STORED} s "
        f"WHERE NOT ({VERSION} = {number} AND {corrected})",
    )
    return given.difference()


def _end_versions(given: RefreshInput, stored: str) -> None:
    """Make ``FRESH`` of stored versions and new ones, each with the end that it has."""
    key = " AND ".join(f"a.{quoted(name)} = c.{quoted(name)}" for name in given.query.key)
    names = ", ".join(f"a.{quoted(each.name)}" for each in given.query.outputs)
    given.space.make(
        FRESH,
        f"SELECT {names}, a.{VALID_FROM}, c.{_AT} AS {VALID_TO}, c.{_AT} IS NULL AS {IS_CURRENT}, "
        f"a.{VERSION} FROM ({stored} UNION ALL SELECT {_columns(given)}, {VERSION}, {_AT} "
        f"FROM {_OPENS}) a ASOF LEFT JOIN {_CLOSES} c ON {key} AND a.{VERSION} < c.{VERSION}",
    )
    given.space.drop(_OPENS, _CLOSES)


def _columns(given: RefreshInput) -> str:
    return ", ".join(quoted(each.name) for each in given.query.outputs)


def _key(given: RefreshInput) -> str:
    return ", ".join(map(quoted, given.query.key))


def _same_key(given: RefreshInput, one: str, other: str) -> str:
    return " AND ".join(f"{one}.{quoted(e)} = {other}.{quoted(e)}" for e in given.query.key)


def _same(given: RefreshInput) -> str:
    one, other = (
        ", ".join(f"{side}.{quoted(each.name)}" for each in given.query.outputs) for side in "os"
    )
    return f"({one}) IS NOT DISTINCT FROM ({other})"
