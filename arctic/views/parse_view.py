"""SQL as a view: what can be kept from changes, and the reason where it cannot.

Rules:
    - What is not known to be kept rightly is refused, with its reason; nothing is guessed.
    - A column is bound to its source here, so that no later statement can mean another.

Must not know: tables, rows, DuckDB itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from arctic.errors import InvalidInputError, NotFoundError
from arctic.views.sql_tree import (
    expressions,
    identifier_of,
    not_kept,
    parsed,
    text_of,
)
from arctic.views.view_join import conjuncts, join_of
from arctic.views.view_outputs import check_names, groups_of, output_of
from arctic.views.view_query import Source, ViewQuery

_CLAUSES = frozenset({"expressions", "from_", "where", "group", "joins"})
_TABLE_PARTS = frozenset({"this", "db", "catalog", "alias"})
_CLOCKS = frozenset(
    {
        *("CurrentDate", "CurrentTime", "CurrentTimestamp", "CurrentDatetime", "Localtime"),
        *("Localtimestamp", "CurrentUser", "SessionUser", "Rand", "Randn", "Uuid"),
    }
)
_WIDENS = frozenset(
    {
        *("Select", "Alias", "Paren", "Where", "Group", "Join", "And", "Or", "Not", "Is", "EQ"),
        *("NEQ", "GT", "GTE", "LT", "LTE", "Between", "In", "Filter", "Count", "Sum", "Avg"),
        *("Min", "Max"),
    }
)
"""What says the same of a number of a wider type: no function, no cast, no arithmetic."""
_SEVERAL_ROWS = frozenset({"unnest", "generate_subscripts", "explode"})


def parse_view(sql: str, sources: Mapping[str, Source]) -> ViewQuery:
    """Return a statement as a view.

    Args:
        sql: the statement.
        sources: the tables of ``source_names``, by their names; their aliases are set here.

    Raises:
        InvalidInputError: what is no such statement, or columns that are ambiguous.
        NotFoundError: a column that no source has.
        UnsupportedError: what cannot be kept from changes, with the reason.
    """
    return _query(sql, tuple(sources.items()))


@lru_cache(maxsize=256)
def _query(sql: str, sources: tuple[tuple[str, Source], ...]) -> ViewQuery:
    # A service asks for the same few views at every refresh.
    return _View(parsed(sql), dict(sources)).query()


def without_stars(sql: str, sources: Mapping[str, Source]) -> str:
    """Return a statement that names every column it shows, so that a new one does not change it."""
    return _View(parsed(sql), sources).named()


class _View:
    """One statement on its way to a view."""

    def __init__(self, tree: Any, known: Mapping[str, Source]) -> None:
        self.tree = tree
        _check_form(tree)
        self.joins = tree.args.get("joins") or []
        tables = [each.this for each in (tree.args["from_"], *self.joins)]
        _check_tables(tables)
        self.sources = tuple(
            replace(known[identifier_of(each)], alias=each.alias_or_name) for each in tables
        )
        self.items = [part for item in tree.expressions for part in self._starred(item)]
        self.used: dict[str, set[str]] = {each.alias: set() for each in self.sources}
        self.narrow: dict[str, set[str]] = {each.alias: set() for each in self.sources}

    def named(self) -> str:
        """Return the statement with its columns named."""
        self.tree.set("expressions", self.items)
        return text_of(self.tree)

    def query(self) -> ViewQuery:
        """Return it, or refuse it."""
        where, group = self.tree.args.get("where"), self.tree.args.get("group")
        # They go by the statement's own names, so before any is bound.
        groups = groups_of(group, self.items, self.sources)
        for node in (*self.items, *groups, *self.joins, *([] if where is None else [where])):
            self._bind(node)
        outputs = tuple(output_of(item) for item in self.items)
        check_names(outputs)
        is_one = len(self.sources) == 1
        query = ViewQuery(
            sources=self.sources,
            outputs=outputs,
            where=None if where is None else text_of(where.this),
            is_grouped=group is not None,
            join=None if is_one else join_of(self.joins[0], self.sources),
            not_null=self.sources[0].required | _tested(where) if is_one else frozenset(),
            used={alias: frozenset(names) for alias, names in self.used.items()},
            widens={
                alias: frozenset(names - self.narrow[alias]) for alias, names in self.used.items()
            },
        )
        _check_groups(query, groups)
        _check_key(query)
        return query

    def _starred(self, item: Any) -> Iterable[Any]:
        exp = expressions()
        star = item.this if isinstance(item, exp.Column) else item
        if not isinstance(star, exp.Star):
            return [item]
        if any(star.args.values()):
            raise not_kept(f"it shows {text_of(item)}; name the columns instead")
        of = item.table.lower() if isinstance(item, exp.Column) else None
        return [
            exp.column(
                exp.to_identifier(name, quoted=True),
                table=exp.to_identifier(source.alias, quoted=True),
            )
            for source in self.sources
            if of in (None, source.alias.lower())
            for name in source.shown
        ]

    def _bind(self, node: Any) -> None:
        exp = expressions()
        for column in list(node.find_all(exp.Column)):
            source, name = self._resolved(column)
            self.used[source.alias].add(name)
            if not _widens(column):
                self.narrow[source.alias].add(name)
            column.set("this", exp.to_identifier(name, quoted=True))
            column.set("table", exp.to_identifier(source.alias, quoted=True))
            for part in ("db", "catalog"):
                column.set(part, None)

    def _resolved(self, column: Any) -> tuple[Source, str]:
        of, said = column.table.lower(), text_of(column)
        found = [
            (source, name)
            for source in self.sources
            if of in ("", source.alias.lower())
            for name in (source.column(column.name),)
            if name is not None
        ]
        if len(found) > 1:
            both = " and in ".join(source.identifier for source, _ in found)
            raise InvalidInputError(f"view: column {said} is in {both}; say of which table it is")
        if not found:
            known = ", ".join(name for each in self.sources for name in each.columns)
            raise NotFoundError(f"view: column {said} is not known; there are {known}")
        return found[0]


def _widens(column: Any) -> bool:
    """Say whether a wider number in the place of a column changes nothing of what is said of it."""
    above = column.parent
    while above is not None and type(above).__name__ in _WIDENS:
        above = above.parent
    return above is None


def _check_form(tree: Any) -> None:
    exp = expressions()
    if not isinstance(tree, exp.Select):
        raise not_kept(f"{tree.key.upper()} joins whole results")
    for name, value in tree.args.items():
        if value and name not in _CLAUSES:
            raise not_kept(f"{name.strip('_').upper()} looks at the whole result")
    if len(list(tree.find_all(exp.Select))) > 1:
        raise not_kept("it has a SELECT inside another; materialize that as a view of its own")
    if tree.find(exp.Window):
        raise not_kept("a window looks at several rows of the result")
    for node in tree.walk():
        if type(node).__name__ in _CLOCKS:
            raise not_kept(f"{text_of(node)} is not the same at every refresh")
        is_call = isinstance(node, exp.Func | exp.UDTF)
        if is_call and text_of(node).partition("(")[0].lower() in _SEVERAL_ROWS:
            raise not_kept(f"{text_of(node)} makes several rows out of one")


def _check_tables(tables: Sequence[Any]) -> None:
    exp = expressions()
    for each in tables:
        if not isinstance(each, exp.Table):
            raise not_kept(f"it reads {text_of(each)}; expected a table")
        own = {name for name, value in each.args.items() if value}
        alias = each.args.get("alias")
        if own - _TABLE_PARTS or (alias is not None and alias.args.get("columns")):
            raise not_kept(f"it reads {text_of(each)}; expected a table as it is")
    if len({identifier_of(each) for each in tables}) < len(tables):
        raise not_kept("it reads one table twice")
    if len({each.alias_or_name.lower() for each in tables}) < len(tables):
        raise InvalidInputError("view: two tables have one name; give one another with AS")
    if len(tables) > 2:
        raise not_kept("it joins more than two tables; materialize a join of two, and join that")


def _check_groups(query: ViewQuery, groups: Sequence[Any]) -> None:
    if any(isinstance(each.unnest(), expressions().Literal) for each in groups):
        raise not_kept("it groups by a constant")
    wanted = {text_of(each) for each in groups}
    shown = {each.sql for each in query.outputs if each.aggregate is None}
    if query.aggregates and not wanted:
        raise not_kept("a sum of all rows has no group; add GROUP BY with a column")
    if not query.is_grouped:
        return
    if query.join is not None:
        raise not_kept("it groups a join; materialize the join, and group that view")
    if shown - wanted:
        raise InvalidInputError(f"view: {min(shown - wanted)} is neither grouped by nor summed up")
    if wanted - shown:
        raise not_kept(
            f"it groups by {min(wanted - shown)} and does not show it, so no row of the view could "
            "be found again; select it"
        )


def _check_key(query: ViewQuery) -> None:
    if query.is_grouped:
        return
    first = query.first
    if not first.key:
        raise not_kept(
            f"table {first.identifier!r} has no primary key, so no row could be found again"
        )
    shown = {each.column for each in query.outputs}
    for name in first.key:
        if (first.alias, name) not in shown:
            raise not_kept(
                f"it does not show {name!r}, which is of the primary key of {first.identifier!r}, "
                "so no row could be found again; select it as it is"
            )


def _tested(where: Any) -> frozenset[str]:
    """Return the columns that a condition says are not null."""
    exp = expressions()
    found = set()
    for part in [] if where is None else conjuncts(where.this):
        test: Any = part.this.unnest() if isinstance(part, exp.Not) else part
        is_test = test is not part and isinstance(test, exp.Is)
        if is_test and isinstance(test.expression, exp.Null) and isinstance(test.this, exp.Column):
            found.add(test.this.name)
    return frozenset(found)
