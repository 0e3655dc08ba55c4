"""What rows bring to a table that adds up all rows of a key: counts as ones, old rows taken off.

Rules:
    - A value that is counted is a one, so the counts of parts add up to that of all.
    - A row that goes brings what it had with the other sign. Which value was there before it only
      sums and counts need not know; the last known value stays, and any other one is refused.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from arctic.columns.field_ids import known_field_id
from arctic.errors import InvalidInputError
from arctic.table.merge_engine import FoldRules, Function
from arctic.writing.rows.actions import Action, is_insert

_KEEP_NULLS = (Function.LAST_VALUE, Function.FIRST_VALUE)
"""Of these even a null counts, so no row can go without being told apart."""


def fold_input(
    rows: pa.RecordBatch,
    actions: np.ndarray | None,
    *,
    schema: pa.Schema,
    key: tuple[str, ...],
    rules: FoldRules,
    describe_row: Callable[[int], str],
) -> tuple[pa.RecordBatch, np.ndarray | None]:
    """Return rows of which each is added to those of its key.

    Args:
        rows: in the types of the table, with further columns.
        actions: the action code of each row; None: all are new.
        schema: of the table.
        key: its key columns.
        rules: how rows are folded.
        describe_row: how a message names a row by its number.

    Raises:
        InvalidInputError: a row that goes, with a value that cannot be taken off.
    """
    goes = np.zeros(rows.num_rows, bool) if actions is None else ~is_insert(actions)
    for field in schema:
        if field.name in key or field.name not in rows.schema.names:
            continue
        function = rules.function_of(known_field_id(field))
        if function is not Function.COUNT and not goes.any():
            continue
        column = rows.column(field.name)
        if function is Function.COUNT:
            column = _ones(column, goes)
        elif function is Function.SUM:
            column = _negated(column, goes, field.name, describe_row)
        else:
            column = _known_still(column, goes, function, field.name, describe_row)
        place = rows.schema.get_field_index(field.name)
        rows = rows.set_column(place, rows.schema.field(place), column)
    if actions is None:
        return rows, None
    return rows, np.full(rows.num_rows, Action.UPDATE_AFTER, np.int8)


def _ones(column: pa.Array, goes: np.ndarray) -> pa.Array:
    valid = pc.is_valid(column).to_numpy(zero_copy_only=False)
    return pa.array(np.where(valid, np.where(goes, -1, 1), 0)).cast(column.type)


def _negated(
    column: pa.Array, goes: np.ndarray, name: str, describe_row: Callable[[int], str]
) -> pa.Array:
    gone = column.filter(pa.array(goes))
    try:
        negated = pc.negate(gone) if pat.is_decimal(gone.type) else pc.negate_checked(gone)
    except pa.ArrowInvalid as error:
        row = int(np.flatnonzero(goes)[0])
        raise InvalidInputError(
            f"column {name!r}: a value that goes with {describe_row(row)} or a later row has no "
            f"counterpart in {column.type}, so it cannot be taken off a sum; widen the column"
        ) from error
    return pc.replace_with_mask(column, pa.array(goes), negated)


def _known_still(
    column: pa.Array,
    goes: np.ndarray,
    function: Function,
    name: str,
    describe_row: Callable[[int], str],
) -> pa.Array:
    if function is Function.LAST_NON_NULL_VALUE:
        return pc.if_else(pa.array(goes), None, column)
    told = pc.is_valid(column).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(goes & (told | (function in _KEEP_NULLS)))
    if wrong.size:
        raise InvalidInputError(
            f"column {name!r}: {describe_row(int(wrong[0]))} goes, but its value cannot be taken "
            f"off what {function.value} has made of all values; expected null there, or a column "
            "that is summed, counted or the last known value; mode 'delete' removes whole keys"
        )
    return column
