"""The statements that keep a view: all of it from rows, or what changes of rows come to.

Strategy: the rows that a refresh needs lie in tables of DuckDB with the columns of their source.
``SIGN`` says of a changed row whether it came or went. Each statement returns rows as the view
stores them, without the text of a group.

Rules:
    - A sum is taken back only where numbers are exact. What cannot be taken back is recounted from
      all rows of its group.
    - A group without rows is told with a count of 0.

Must not know: tables of Arctic, DuckDB itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arctic.views.sql_tree import quoted
from arctic.views.view_query import COUNT_PREFIX, GROUP, SUM_PREFIX, Output, ViewQuery

SIGN = "_arctic_sign"
"""1: the row is there now, -1: it was there before."""
CHANGED, DELTA, KNOWN, COUNTED = "changed", "delta", "known", "counted"
"""Tables: changed rows of a source, what groups changed by, groups as that tells them, and those
that were recounted."""
FRESH, STORED = "fresh", "stored"
"""Tables: rows of the view as they are, and as it has them."""
RECOUNT = "_arctic_recount"
_CAME, _WENT = f"{SIGN} > 0", f"{SIGN} < 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """How a column with an aggregate is kept."""

    stored: Mapping[str, str]
    """Columns of the view, the aggregate itself and what it is kept by -> SQL over all rows."""
    changes: Mapping[str, str]
    """Columns of what changed -> SQL over changed rows."""
    merged: Mapping[str, str]
    """Columns of the view -> SQL over ``s``, the stored group, and ``d``, what changed."""
    recount: str
    """When that is not known from the two."""


def keeping(output: Output, *, is_exact: bool) -> Keeping:
    """Return how an aggregate is kept.

    Args:
        output: the column.
        is_exact: sums of its argument are exact, so they can be taken back.
    """
    made = output.aggregate
    assert made is not None
    name, of = output.name, made.argument
    count, total = f"{COUNT_PREFIX}{name}", f"{SUM_PREFIX}{name}"
    if not made.function or (made.function in ("sum", "avg") and not is_exact):
        return Keeping(stored={name: output.sql}, changes={}, merged={name: "NULL"}, recount="true")
    if made.function == "count":
        return Keeping(
            stored={name: output.sql},
            changes={name: _taken("count", of)},
            merged={name: _added(name)},
            recount="false",
        )
    if made.function == "sum":
        is_there = f"{_added(count)} <> 0"
        return Keeping(
            stored={name: output.sql, count: f"count({of})"},
            changes={name: _taken("sum", of), count: _taken("count", of)},
            merged={name: f"CASE WHEN {is_there} THEN {_added(name)} END", count: _added(count)},
            recount="false",
        )
    if made.function == "avg":
        mean = "CAST({} AS DOUBLE) / nullif({}, 0)"
        return Keeping(
            stored={
                name: mean.format(f"sum({of})", f"count({of})"),
                total: f"sum({of})",
                count: f"count({of})",
            },
            changes={total: _taken("sum", of), count: _taken("count", of)},
            merged={
                name: mean.format(_added(total), _added(count)),
                total: _added(total),
                count: _added(count),
            },
            recount="false",
        )
    came, went = (f"d.{quoted(f'{name} {each}')}" for each in ("came", "went"))
    stored, better = f"s.{quoted(name)}", "<" if made.function == "min" else ">"
    nearer = "least" if made.function == "min" else "greatest"
    function = made.function
    return Keeping(
        stored={name: output.sql},
        changes={
            f"{name} came": f"{function}({of}) FILTER (WHERE {_CAME})",
            f"{name} went": f"{function}({of}) FILTER (WHERE {_WENT})",
        },
        merged={name: f"{nearer}({stored}, {came})"},
        # The stored one may have gone, and nothing as good has come.
        recount=f"({went} IS NOT NULL AND NOT coalesce({stored} {better} {went}, false) "
        f"AND NOT coalesce({came} {better}= {stored}, false))",
    )


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
            beside: name -> column of these.
        """
        where = "" if self.query.where is None else f" WHERE {self.query.where}"
        listed = _listed({each.name: each.sql for each in self.query.outputs} | dict(beside))
        return f"SELECT {listed} FROM {self._from({self._alias: relation})}{where}"

    def changed_groups(self) -> str:
        """Return the statement of what the changed rows do to each group: the table ``DELTA``."""
        query = self.query
        where = "" if query.where is None else f" WHERE {query.where}"
        groups = {each.name: each.sql for each in query.groups}
        changes = {name: sql for each in self.keepings for name, sql in each.changes.items()}
        changes[query.count] = f"CAST(sum({SIGN}) AS BIGINT)"
        by = ", ".join(groups.values())
        return (
            f"SELECT {_listed(groups | changes)} FROM {self._from({self._alias: CHANGED})}{where} "
            f"GROUP BY {by}"
        )

    def merged_groups(self) -> str:
        """Return the statement of ``DELTA`` and ``STORED`` added: the table ``KNOWN``.

        ``RECOUNT`` says which groups it does not know.
        """
        query = self.query
        merged = {name: sql for each in self.keepings for name, sql in each.merged.items()}
        merged[query.count] = _added(query.count)
        groups = {each.name: f"d.{quoted(each.name)}" for each in query.groups}
        recount = " OR ".join(each.recount for each in self.keepings) or "false"
        return (
            f"SELECT {_listed(groups | merged)}, {recount} AS {RECOUNT} FROM {DELTA} d "
            f"LEFT JOIN {STORED} s ON {_same(query.groups, 'd', 's')}"
        )

    def recounted(self, relation: str) -> str:
        """Return the statement that recounts groups from all rows: the table ``COUNTED``.

        Args:
            relation: rows of the source, at least all of those groups.
        """
        same = " AND ".join(
            f"({each.sql}) IS NOT DISTINCT FROM f.{quoted(each.name)}" for each in self.query.groups
        )
        only = f"EXISTS (SELECT 1 FROM {KNOWN} f WHERE f.{RECOUNT} AND {same})"
        return self.whole({self._alias: relation}, only=only)

    def shown_groups(self) -> str:
        """Return the statement of all changed groups as they are now, of ``KNOWN`` and ``COUNTED``.

        A group that was to be recounted and has no row left is in neither.
        """
        counted = f"SELECT * FROM {COUNTED}"
        if any(each.recount == "true" for each in self.keepings):
            return counted
        known = self._shown(f"(SELECT * FROM {KNOWN} WHERE NOT {RECOUNT})", f"{self._count} > 0")
        return f"{known} UNION ALL {counted}"

    def lost_groups(self) -> str:
        """Return the statement that counts groups of fewer than 0 rows: there must be none."""
        return f"SELECT count(*) FROM {KNOWN} WHERE NOT {RECOUNT} AND {self._count} < 0"

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


def difference(columns: Sequence[str], key: Sequence[str], action: str) -> str:
    """Return the statement of the changes that turn ``STORED`` into ``FRESH``.

    Args:
        columns: of the view.
        key: those that tell a row apart.
        action: the column for what is done with a row.
    """
    on = " AND ".join(f"f.{quoted(each)} = s.{quoted(each)}" for each in key)
    fresh, stored = (", ".join(f"{side}.{quoted(each)}" for each in columns) for side in "fs")
    first = quoted(key[0])
    return (
        f"SELECT {fresh}, '+U' AS {quoted(action)} FROM {FRESH} f LEFT JOIN {STORED} s ON {on} "
        f"WHERE s.{first} IS NULL OR ({fresh}) IS DISTINCT FROM ({stored}) "
        f"UNION ALL SELECT {stored}, '-D' FROM {STORED} s "
        f"WHERE NOT EXISTS (SELECT 1 FROM {FRESH} f WHERE {on})"
    )


def _same(groups: Sequence[Output], one: str, other: str) -> str:
    return " AND ".join(
        f"{one}.{quoted(each.name)} IS NOT DISTINCT FROM {other}.{quoted(each.name)}"
        for each in groups
    )


def _group_text(groups: Sequence[Output]) -> str:
    """Return SQL for a text that two groups share only if all of their values are the same."""
    parts = []
    for each in groups:
        text = f"replace(CAST({quoted(each.name)} AS VARCHAR), '''', '''''')"
        parts.append(f"coalesce('''' || {text} || '''', 'null')")
    return " || ',' || ".join(parts)


def _listed(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {quoted(name)}" for name, sql in columns.items())


def _taken(function: str, of: str | None) -> str:
    came, went = (f"{function}({of or '*'}) FILTER (WHERE {sign})" for sign in (_CAME, _WENT))
    return f"coalesce({came}, 0) - coalesce({went}, 0)"


def _added(name: str) -> str:
    return f"(coalesce(s.{quoted(name)}, 0) + d.{quoted(name)})"
