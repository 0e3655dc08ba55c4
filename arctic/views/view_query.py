"""A view as a value: its sources, its columns, and by what its rows are told apart.

Rules:
    - Texts are SQL of DuckDB, in which every column is quoted as its table spells it.
    - Plain columns of the view that Arctic adds begin with an underscore.

Must not know: parsers, tables, rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ROWS = "_rows"
"""How many rows of the source a group has, where the view does not say it by itself."""
GROUP = "_group"
"""The values of a group as one text, where one of them may be null: a key has no nulls."""
COUNT_PREFIX, SUM_PREFIX = "_count_", "_sum_"
"""Before the name of a column: what its aggregate is kept by."""

VERSION, VALID_FROM, VALID_TO = "_version", "valid_from", "valid_to"
"""Of a version of a row: the number and the time of the commit that made it, and the time of the
one that ended it."""
DAY = "day"
"""At whose end, in UTC, a row of a view of days was so."""
IS_CURRENT = "is_current"
"""Whether no commit has ended a version."""


def is_kept_beside(name: str) -> bool:
    """Say whether a column of a view's table is none that its statement shows.

    >>> [is_kept_beside(name) for name in ("_rows", "_SUM_amount", "_version", "sum_amount")]
    [True, True, False, False]
    """
    small = name.lower()
    return small in (GROUP, ROWS) or small.startswith((COUNT_PREFIX, SUM_PREFIX))


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table that a view is of."""

    identifier: str
    """``namespace.table``."""
    alias: str
    """What the statement calls it."""
    columns: tuple[str, ...]
    key: tuple[str, ...]
    """Its primary key; empty: it has none."""
    required: frozenset[str]
    """Columns without nulls."""
    shown: tuple[str, ...]
    """What ``*`` means: all columns, or of a view those that its statement shows."""

    def column(self, name: str) -> str | None:
        """Return a column as the table spells it; None: there is none."""
        return next((each for each in self.columns if each.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """An aggregate: what a column computes from the rows of its group."""

    function: str
    """``count``, ``sum``, ``avg``, ``min``, ``max``; empty: known from all rows only."""
    argument: str | None
    """None: of ``count(*)``."""
    cast: str | None = None
    """The type that the view wants it in; None: its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A column of the view."""

    name: str
    sql: str
    """Over columns of the sources."""
    column: tuple[str, str] | None
    """It is this column as it is: alias of the source, name."""
    aggregate: Aggregate | None
    """None: a value of one row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """How the rows of a second source are found: by its whole key."""

    word: str
    """``JOIN``, or ``LEFT JOIN``: rows without a second row stay."""
    first: Source
    """Each of its rows is in at most one row of the view."""
    second: Source
    columns: tuple[tuple[str, str], ...]
    """Column of the first, column of the key of the second."""
    condition: str
    """That these are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewQuery:
    """A view that can be kept from changes."""

    sources: tuple[Source, ...]
    outputs: tuple[Output, ...]
    where: str | None
    is_grouped: bool
    join: Join | None
    not_null: frozenset[str]
    """Columns of a single source that have no null in any row that counts."""
    used: Mapping[str, frozenset[str]]
    """The columns of each source that the statement reads, by alias."""
    widens: Mapping[str, frozenset[str]]
    """Those of them of which the statement says the same when they become a wider type of exact
    numbers, by alias."""

    @property
    def first(self) -> Source:
        """The source whose rows, or groups of rows, those of the view are."""
        return self.sources[0] if self.join is None else self.join.first

    @property
    def groups(self) -> tuple[Output, ...]:
        """The columns that a group is told apart by; none of a view without groups."""
        return tuple(each for each in self.outputs if each.aggregate is None and self.is_grouped)

    @property
    def aggregates(self) -> tuple[Output, ...]:
        """The columns that say something of a group."""
        return tuple(each for each in self.outputs if each.aggregate is not None)

    @property
    def count(self) -> str:
        """The column with the number of rows of a group."""
        for each in self.aggregates:
            made = each.aggregate
            if made == Aggregate(function="count", argument=None):
                return each.name
        return ROWS

    @property
    def has_group_text(self) -> bool:
        """Whether groups need a text as their key."""
        return self.is_grouped and not all(
            each.column is not None and each.column[1] in self.not_null for each in self.groups
        )

    @property
    def key(self) -> tuple[str, ...]:
        """The primary key of the view."""
        if self.has_group_text:
            return (GROUP,)
        if self.is_grouped:
            return tuple(each.name for each in self.groups)
        names = {each.column: each.name for each in reversed(self.outputs) if each.column}
        return tuple(names[self.first.alias, column] for column in self.first.key)
