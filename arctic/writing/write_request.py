"""What one write asks for, and whether a table and a frame allow it.

An upsert replaces whole rows, so what a frame lacks would be lost: that is only done on request.

Must not know: files, nodes, what tasks are told beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import pyarrow as pa
import pyarrow.types as pt

from arctic.errors import InvalidInputError, UnsupportedError
from arctic.table.merge_engine import FoldRules, MergeEngine
from arctic.table.table_description import TableDescription


class WriteMode(Enum):
    """What a write does with its rows; the value is the option's text."""

    APPEND = "append"
    UPSERT = "upsert"
    DELETE = "delete"
    OVERWRITE = "overwrite"


class MissingColumns(Enum):
    """What becomes of optional columns that the rows lack; the value is the option's text."""

    REFUSE = "refuse"
    NULL = "null"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRule:
    """What a command demands of the keys of its rows."""

    command: str
    """For messages."""
    counts_all: bool
    """Whether a key may be in one row only, whatever that does; else in one that stays."""
    checks_inserts: bool
    """Whether an inserted key is refused that is stored, and not deleted by the command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest:
    """What one write asks for."""

    mode: WriteMode
    action_column: str | None = None
    """Says what each row does; turns append and upsert into a replay of changes."""
    ordering_column: str | None = None
    """The last event of a key in the write wins, by this column."""
    stored_order: tuple[str, ...] = ()
    """The table's ordering columns, by which the events of all writes are held against one
    another; none: the later write wins."""
    engine: MergeEngine = MergeEngine.LAST_ROW
    """What becomes of the rows of a key."""
    fold: FoldRules | None = None
    """By what they are made one; None: they are not."""
    sets_rows: bool = False
    """Each row stands for itself, where a table makes one of all rows of a key otherwise."""
    stored_columns: tuple[str, ...] = ()
    """Columns that say what is stored in those partition source columns which are no key, in their
    order, of rows that take the place of others; none: those are where the rows go."""
    arrival_column: str | None = None
    """Helper column that keeps the order of the rows before they were shuffled."""
    ignored_columns: tuple[str, ...] = ()
    """Helper columns that carry nothing for the write."""
    sorted_input: bool = False
    """The stream comes in event order (changes) or in key and event order (keyed overwrite)."""
    transaction_id: int = 0
    """In the names of base files: the change sequence number that an overwrite replaces."""
    missing_columns: MissingColumns | None = None
    """None: refused where a stored value would be lost, else null."""
    key_rule: KeyRule | None = None
    """None: the last event of a key wins."""
    knows_places: bool = False
    """Whether rows say by ``row_places`` which stored one they are about."""

    @property
    def replaces_rows(self) -> bool:
        """Whether a row may take the place of a stored one, of which nothing else stays."""
        return self.mode is WriteMode.UPSERT or self.action_column is not None

    @property
    def missing_become(self) -> MissingColumns:
        """What becomes of columns that the rows lack; a delete has no use for them."""
        if self.missing_columns is not None:
            return self.missing_columns
        # Where rows are folded, a column that is not given leaves what is stored.
        refuses = self.replaces_rows and self.fold is None
        return MissingColumns.REFUSE if refuses else MissingColumns.NULL

    @property
    def event_order(self) -> tuple[str, ...]:
        """The columns that order events, most significant first; none: as they arrive."""
        names = (*self.stored_order, self.ordering_column, self.arrival_column)
        return tuple(name for name in names if name is not None)

    @property
    def extra_columns(self) -> tuple[str, ...]:
        """The columns that the write itself reads, perhaps beside the table's."""
        names = (self.action_column, *self.event_order, *self.stored_columns)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def must_own_keys(self, table: TableDescription) -> bool:
        """Say whether the result is only right if all rows of a key come to one task.

        A plain upsert or delete of a table whose key decides the partition is right anyway: offsets
        of different tasks differ, so one row of each key survives.
        """
        if not table.is_keyed:
            return False
        if self.mode is WriteMode.OVERWRITE:
            return True
        if self.stored_order:
            # Whichever task has an event, it is held against the others of its key when it is read.
            return False
        if self.action_column or self.ordering_column:
            return True
        return self.mode is WriteMode.UPSERT and not table.partition_follows_key

    def check(self, table: TableDescription) -> None:
        """Refuse what the table cannot do, or what would be ignored.

        Raises:
            InvalidInputError: naming the option.
        """
        mode = self.mode.value
        if not table.is_keyed:
            if self.mode not in (WriteMode.APPEND, WriteMode.OVERWRITE):
                raise InvalidInputError(
                    f"table {table.name!r} has no primary key: mode {mode!r} needs one; "
                    "expected append or overwrite"
                )
            if self.action_column or self.ordering_column:
                raise InvalidInputError(
                    f"table {table.name!r} has no primary key: an action column or ordering column "
                    "says nothing about its rows"
                )
        if self.action_column and self.mode in (WriteMode.DELETE, WriteMode.OVERWRITE):
            raise InvalidInputError(
                f"action column {self.action_column!r} with mode {mode!r}: every row would have "
                "two meanings; expected mode append or upsert"
            )
        if self.missing_columns is MissingColumns.KEEP and not self.replaces_rows:
            raise InvalidInputError(
                f"option missing-columns = 'keep' with mode {mode!r}: no row keeps anything of a "
                "stored one; expected mode upsert"
            )
        if table.weighs_rows:
            self._check_weighed(table)
        if self.ordering_column and self.mode is WriteMode.APPEND and not self.action_column:
            raise InvalidInputError(
                f"ordering column {self.ordering_column!r} with mode 'append': every row is kept, "
                "so no order is asked; expected mode upsert"
            )

    def _check_weighed(self, table: TableDescription) -> None:
        """Refuse what a table would decide otherwise than it is asked for."""
        subject = f"table {table.name!r} has {table.weighed_by}"
        if table.merge_engine is MergeEngine.FIRST_ROW and self.mode is WriteMode.DELETE:
            raise UnsupportedError(f"{subject}: the first row of a key stays, so none is deleted")
        if self.ordering_column and table.ordering_columns:
            raise InvalidInputError(
                f"{subject}, by which the events of all writes are ordered; leave out ordering "
                f"column {self.ordering_column!r}"
            )
        if self.mode is WriteMode.APPEND and not self.action_column:
            raise InvalidInputError(
                f"{subject}: mode 'append' would not hold its rows against those of other writes; "
                "expected mode upsert"
            )
        if self.missing_columns is MissingColumns.KEEP:
            raise UnsupportedError(
                f"{subject}: with missing-columns = 'keep' a row would keep values of what is "
                "stored now, not of the row that it follows; give every column"
            )


def check_missing(
    incoming: pa.Schema, table_schema: pa.Schema, *, table_name: str, request: WriteRequest
) -> None:
    """Refuse a frame that lacks optional columns, where that would lose stored values.

    Args:
        incoming: the frame's schema, which fits the table otherwise.
        table_schema: the table's.
        table_name: for messages.
        request: what is asked for.

    Raises:
        InvalidInputError: naming the columns.
    """
    if request.mode is WriteMode.DELETE:
        return
    names = [field.name for field in table_schema if field.name not in incoming.names]
    parts = [
        part
        for field in table_schema
        if field.name in incoming.names
        for part in _missing_parts(incoming.field(field.name).type, field.type, field.name)
    ]
    become = request.missing_become
    if become is MissingColumns.REFUSE and (names or parts):
        raise InvalidInputError(
            f"{request.mode.value} into table {table_name!r}: the frame lacks "
            f"{', '.join([*names, *parts])}, so the values that are stored there would become "
            "null; add the columns, or set missing-columns=keep to leave what is stored, or "
            "missing-columns=null"
        )
    if become is MissingColumns.KEEP and parts:
        raise InvalidInputError(
            f"option missing-columns = 'keep': the frame lacks {', '.join(parts)} of table "
            f"{table_name!r}, and only whole columns are kept; add what is missing, or leave the "
            "whole column out"
        )


def _missing_parts(incoming: pa.DataType, wanted: pa.DataType, name: str) -> Iterator[str]:
    """Yield the fields that a nested type lacks, dotted; the types fit otherwise."""
    if pt.is_dictionary(incoming):
        incoming = incoming.value_type
    if pt.is_struct(wanted):
        given = {field.name: field.type for field in incoming}
        for field in wanted:
            part = f"{name}.{field.name}"
            if field.name in given:
                yield from _missing_parts(given[field.name], field.type, part)
            else:
                yield part
    elif pt.is_map(wanted):
        yield from _missing_parts(incoming.item_type, wanted.item_type, f"{name}.value")
    elif pt.is_list(wanted):
        yield from _missing_parts(incoming.value_type, wanted.value_type, f"{name}.element")
