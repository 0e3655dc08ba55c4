"""The statements that keep a view: all of it from rows, or what changes of rows come to.

Strategy: the rows that a refresh needs lie in tables of DuckDB with the columns of their source.
``SIGN`` says of a changed row whether it came or went. Each statement returns rows as the view
stores them, without the text of a group.

Rules:
    - A group without rows is told with a count of 0.

Must not know: tables of Arctic, DuckDB itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from arctic.views.sql_tree import quoted
from arctic.views.view_keeping import SIGN, Keeping, added, keeping
from arctic.views.view_query import GROUP, Output, ViewQuery

CHANGED, DELTA, KNOWN, COUNTED = "changed", "delta", "known", "counted"
"""Tables: changed rows of a source, what groups changed by, groups as that tells them beside what
the view has of them, and those that were recounted."""
FRESH, STORED = "fresh", "stored"
"""Tables: rows of the view as they are, and as it has them."""
ACTION = "_arctic_action"
"""What is done with a row of the view: ``+U`` or ``-D``. In ``KNOWN`` also one of the following."""
_SAME, _NEVER, _RECOUNT, _LOST = "same", "never", "recount", "lost"
"""A group as the view has it; one that the view has not, and need not; one that is to be recounted;
and one of fewer than 0 rows."""
IS_RECOUNTED = f"{ACTION} = '{_RECOUNT}'"
"""Whether a group of ``KNOWN`` is to be recounted."""
_UNKNOWN = "_arctic_unknown"
_WAS = "_arctic_was "
"""Before the name of a column: what the view has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """The statements of one view."""

    query: ViewQuery
    keepings: tuple[Keeping, ...]
    """Of the aggregates, in their order."""

    @classmethod
    def of(cls, query: ViewQuery, exact: Sequence[str]) -> Statements:
        """Return the statements of a view.

        Args:
            query: the view.
            exact: the aggregates whose sums are exact, by name.
        """
        return cls(
            query=query,
            keepings=tuple(keeping(each, is_exact=each.name in exact) for each in query.aggregates),
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the view's table, in their order."""
        query = self.query
        names = [each.name for each in query.outputs]
        if query.is_grouped:
            kept = [name for each in self.keepings for name in each.stored]
            kept += [query.count, *([GROUP] if query.has_group_text else [])]
            names += [name for name in kept if name not in names]
        return tuple(names)

    def whole(self, relations: Mapping[str, str], *, only: str | None = None) -> str:
        """Return the statement of all rows of the view.

        Args:
            relations: the table of each source, by the source's alias.
            only: a condition on rows of the sources, beside that of the view.
        """
        query = self.query
        conditions = [f"({each})" for each in (query.where, only) if each is not None]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        if not query.is_grouped:
            listed = _listed({each.name: each.sql for each in query.outputs})
            return f"SELECT {listed} FROM {self._from(relations)}{where}"
        groups = {each.name: each.sql for each in query.groups}
        kept = {name: sql for each in self.keepings for name, sql in each.stored.items()}
        kept.setdefault(query.count, "count(*)")
        by = ", ".join(groups.values())
        inner = f"SELECT {_listed(groups | kept)} FROM {self._from(relations)}{where} GROUP BY {by}"
        return self._shown(f"({inner})", "true")

    def sides(self, relation: str, beside: Mapping[str, str]) -> str:
        """Return the statement of rows of a view without groups or join, with more columns.

        Args:
            relation: rows of the source.
            beside: name -> SQL over these.
        """
        where = "" if self.query.where is None else f" WHERE {self.query.where}"
        listed = _listed({each.name: each.sql for each in self.query.outputs} | dict(beside))
        return f"SELECT {listed} FROM {self._from({self._alias: relation})}{where}"

    def changed_groups(self, relation: str) -> str:
        """Return the statement of what changed rows do to each group: the table ``DELTA``.

        Args:
            relation: the changed rows.
        """
        query = self.query
        where = "" if query.where is None else f" WHERE {query.where}"
        groups = {each.name: each.sql for each in query.groups}
        changes = {name: sql for each in self.keepings for name, sql in each.changes.items()}
        changes[query.count] = f"CAST(sum({SIGN}) AS BIGINT)"
        by = ", ".join(groups.values())
        return (
            f"SELECT {_listed(groups | changes)} FROM {self._from({self._alias: relation})}{where} "
            f"GROUP BY {by}"
        )

    def merged_groups(self) -> str:
        """Return the statement of ``DELTA`` and ``STORED`` added: the table ``KNOWN``.

        Its ``ACTION`` says what is to be done with a group. One that goes is as the view has it.
        """
        query = self.query
        merged = {name: sql for each in self.keepings for name, sql in each.merged.items()}
        merged[query.count] = added(query.count)
        groups = {each.name: f"d.{quoted(each.name)}" for each in query.groups}
        if query.has_group_text:
            # To make it takes longer than all else that is done for a group.
            text = _group_text(query.groups, of="d.")
            groups[GROUP] = f"coalesce(s.{quoted(GROUP)}, {text})"
        stored = {f"{_WAS}{name}": f"s.{quoted(name)}" for name in self.columns}
        recount = " OR ".join(each.recount for each in self.keepings) or "false"
        joined = (
            f"SELECT {_listed(groups | merged | stored)}, {recount} AS {_UNKNOWN} FROM {DELTA} d "
            f"LEFT JOIN {STORED} s ON {_same(query.groups, 'd', 's')}"
        )
        was = {name: quoted(f"{_WAS}{name}") for name in self.columns}
        shown = {
            name: quoted(name)
            if name in groups
            else f"CASE WHEN {ACTION} = '-D' THEN {was[name]} ELSE {quoted(name)} END"
            for name in self.columns
        }
        differs = _differ([(quoted(name), was[name]) for name in self.columns if name in merged])
        action = (
            f"CASE WHEN {_UNKNOWN} THEN '{_RECOUNT}' WHEN {self._count} < 0 THEN '{_LOST}' "
            f"WHEN {self._count} = 0 AND {was[query.count]} IS NULL THEN '{_NEVER}' "
            f"WHEN {self._count} = 0 THEN '-D' WHEN {differs} THEN '+U' ELSE '{_SAME}' END"
        )
        return (
            f"SELECT {_listed(shown)}, {ACTION} FROM "
            f"(SELECT *, {action} AS {ACTION} FROM ({joined}))"
        )

    def recounted(self, relation: str) -> str:
        """Return the statement that recounts groups from all rows: the table ``COUNTED``.

        Args:
            relation: rows of the source, at least all of those groups.
        """
        same = " AND ".join(
            f"({each.sql}) IS NOT DISTINCT FROM f.{quoted(each.name)}" for each in self.query.groups
        )
        only = f"EXISTS (SELECT 1 FROM {KNOWN} f WHERE f.{IS_RECOUNTED} AND {same})"
        return self.whole({self._alias: relation}, only=only)

    def shown_groups(self) -> str:
        """Return the statement of all changed groups as they are now, of ``KNOWN`` and ``COUNTED``.

        A group that was to be recounted and has no row left is in neither.
        """
        counted = f"SELECT * FROM {COUNTED}"
        if any(each.recount == "true" for each in self.keepings):
            return counted
        return (
            f"SELECT {self._names} FROM {KNOWN} WHERE {ACTION} IN ('+U', '{_SAME}') "
            f"UNION ALL SELECT {self._names} FROM {COUNTED}"
        )

    def checked_groups(self) -> str:
        """Return the statement that counts groups of ``KNOWN``.

        Those of fewer than 0 rows, of which there must be none, and those to be recounted.
        """
        lost = f"count(*) FILTER (WHERE {ACTION} = '{_LOST}')"
        return f"SELECT {lost}, count(*) FILTER (WHERE {IS_RECOUNTED}) FROM {KNOWN}"

    def known_changes(self) -> str:
        """Return the statement of the changes that ``KNOWN`` tells, with no group to recount."""
        return f"SELECT {self._names}, {ACTION} FROM {KNOWN} WHERE {ACTION} IN ('+U', '-D')"

    @property
    def _names(self) -> str:
        return ", ".join(map(quoted, self.columns))

    @property
    def _count(self) -> str:
        return quoted(self.query.count)

    @property
    def _alias(self) -> str:
        return self.query.first.alias

    def _from(self, relations: Mapping[str, str]) -> str:
        query = self.query
        first = query.first
        text = f"{relations[first.alias]} AS {quoted(first.alias)}"
        if query.join is None:
            return text
        second = query.join.second
        joined = f"{relations[second.alias]} AS {quoted(second.alias)}"
        return f"{text} {query.join.word} {joined} ON {query.join.condition}"

    def _shown(self, relation: str, condition: str) -> str:
        """Return groups with the columns of the view."""
        names = [quoted(name) for name in self.columns if name != GROUP]
        if self.query.has_group_text:
            names.append(f"{_group_text(self.query.groups)} AS {quoted(GROUP)}")
        return f"SELECT {', '.join(names)} FROM {relation} WHERE {condition}"


def difference(columns: Sequence[str], key: Sequence[str]) -> str:
    """Return the statement of the changes that turn ``STORED`` into ``FRESH``.

    Args:
        columns: of the view.
        key: those that tell a row apart.
    """
    on = " AND ".join(f"f.{quoted(each)} = s.{quoted(each)}" for each in key)
    fresh, stored = (", ".join(f"{side}.{quoted(each)}" for each in columns) for side in "fs")
    # Column by column: a comparison of whole rows makes a struct of each first.
    differs = _differ([(f"f.{quoted(each)}", f"s.{quoted(each)}") for each in columns])
    return (
        f"SELECT {fresh}, '+U' AS {ACTION} FROM {FRESH} f LEFT JOIN {STORED} s ON {on} "
        f"WHERE {differs} "
        f"UNION ALL SELECT {stored}, '-D' FROM {STORED} s "
        f"WHERE NOT EXISTS (SELECT 1 FROM {FRESH} f WHERE {on})"
    )


def _same(groups: Sequence[Output], one: str, other: str) -> str:
    return " AND ".join(
        f"{one}.{quoted(each.name)} IS NOT DISTINCT FROM {other}.{quoted(each.name)}"
        for each in groups
    )


def _differ(pairs: Iterable[tuple[str, str]]) -> str:
    """Return SQL that says whether any pair differs."""
    return " OR ".join(f"{one} IS DISTINCT FROM {other}" for one, other in pairs)


def _group_text(groups: Sequence[Output], *, of: str = "") -> str:
    """Return SQL for a text that two groups share only if all of their values are the same."""
    parts = []
    for each in groups:
        text = f"replace(CAST({of}{quoted(each.name)} AS VARCHAR), '''', '''''')"
        parts.append(f"coalesce('''' || {text} || '''', 'null')")
    return " || ',' || ".join(parts)


def _listed(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {quoted(name)}" for name, sql in columns.items())
