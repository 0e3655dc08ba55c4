"""What becomes of the rows of a key: which one is read, or what is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class MergeEngine(Enum):
    """How the rows of a key become one; the names are those of the table property."""

    LAST_ROW = "last-row"
    """The last one takes the place of the others; by ordering columns, where there are some."""
    FIRST_ROW = "first-row"
    """The first one stays."""
    PARTIAL_UPDATE = "partial-update"
    """Each column keeps its last value that is not null; groups of columns have their own order."""
    AGGREGATE = "aggregate"
    """Each column is what its function makes of all values."""

    @property
    def folds(self) -> bool:
        """Whether the row that is read is made of all rows of its key."""
        return self in (MergeEngine.PARTIAL_UPDATE, MergeEngine.AGGREGATE)

    def weighs_rows(self, *, is_ordered: bool) -> bool:
        """Say whether a later row need not win: those of a key are held against one another.

        Args:
            is_ordered: whether the table has ordering columns.
        """
        return is_ordered or self is not MergeEngine.LAST_ROW


class Function(Enum):
    """What becomes of the values of a column; the names are Paimon's, where it has them."""

    LAST_NON_NULL_VALUE = "last_non_null_value"
    LAST_VALUE = "last_value"
    FIRST_VALUE = "first_value"
    FIRST_NON_NULL_VALUE = "first_non_null_value"
    SUM = "sum"
    COUNT = "count"
    """Paimon has none; how many values are not null, in rows that are written."""
    PRODUCT = "product"
    MAX = "max"
    MIN = "min"
    BOOL_OR = "bool_or"
    BOOL_AND = "bool_and"
    LISTAGG = "listagg"
    COLLECT = "collect"


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceGroup:
    """Columns that are taken together, from the row with the greatest order."""

    order_ids: tuple[int, ...]
    """Field ids of the columns that order rows, most significant first; they are taken too. A row
    with null in all of them does not touch the group; the first row of a key is there before."""
    column_ids: tuple[int, ...]
    """Field ids of the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldRules:
    """What the rows of a key are folded by; pickles."""

    functions: Mapping[int, Function] = field(default_factory=dict)
    """By field id; of another column the last value stays that is not null."""
    groups: tuple[SequenceGroup, ...] = ()

    def function_of(self, field_id: int) -> Function:
        """Return what becomes of a column that is in no group."""
        return self.functions.get(field_id, Function.LAST_NON_NULL_VALUE)

    @property
    def takes_off(self) -> bool:
        """Whether a row that goes changes what its key has: sums and counts do."""
        return not {Function.SUM, Function.COUNT}.isdisjoint(self.functions.values())

    def needed_for(self, field_ids: frozenset[int]) -> frozenset[int]:
        """Return columns, and those that they go by."""
        orders = (
            number
            for group in self.groups
            if field_ids.intersection((*group.order_ids, *group.column_ids))
            for number in group.order_ids
        )
        return field_ids.union(orders)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRules:
    """All that says which row of a key is read; as it is here where a table says nothing of it."""

    ordering_columns: tuple[str, ...] = ()
    """By whose values rows are held against one another, most significant first."""
    engine: MergeEngine = MergeEngine.LAST_ROW
    fold: FoldRules | None = None
    """By what all rows of a key become one; None: one of them is read."""
