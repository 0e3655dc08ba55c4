"""What each row does, read from an action column.

Rules:
    - Three spellings are known: ``I U D``, Flink's ``+I -U +U -D`` and Debezium's ``c r u d``.
    - A lone ``U`` is a row as it is after the update.
    - A value that is not known stops the write: a guess would keep or kill a row.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from arctic.errors import InvalidInputError


class Action(IntEnum):
    """What a row does.

    Source: amoro ChangeAction @96a4d781a, with its byte codes.
    """

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3


SPELLINGS: dict[str, Action] = {
    "I": Action.INSERT,
    "i": Action.INSERT,
    "+I": Action.INSERT,
    "c": Action.INSERT,
    "r": Action.INSERT,
    "U": Action.UPDATE_AFTER,
    "u": Action.UPDATE_AFTER,
    "+U": Action.UPDATE_AFTER,
    "-U": Action.UPDATE_BEFORE,
    "D": Action.DELETE,
    "d": Action.DELETE,
    "-D": Action.DELETE,
}
"""Every value of an action column; ``r`` is a row of Debezium's first snapshot."""


def check_action_type(field: pa.Field) -> None:
    """Refuse an action column that is not text.

    Raises:
        InvalidInputError: naming the column.
    """
    kind = field.type.value_type if pt.is_dictionary(field.type) else field.type
    if not (pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind)):
        raise InvalidInputError(
            f"action column {field.name!r} is {field.type}; expected text such as {_expected()}"
        )


def read_actions(column: pa.Array, *, name: str, describe_row: Callable[[int], str]) -> np.ndarray:
    """Return the action code of each row, as int8.

    Args:
        column: plain strings.
        name: of the column, for messages.
        describe_row: how a message names a row by its number.

    Raises:
        InvalidInputError: a null or an unknown value, with the first row that has it.
    """
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    unknown = -1
    meaning = np.array(
        [SPELLINGS.get(text, unknown) for text in encoded.dictionary.to_pylist()], dtype=np.int8
    )
    codes: np.ndarray = meaning[encoded.indices.to_numpy(zero_copy_only=False)]
    refused = np.flatnonzero(codes == unknown)
    if refused.size:
        row = int(refused[0])
        raise InvalidInputError(
            f"action column {name!r} is {column[row].as_py()!r} in {describe_row(row)}; expected "
            f"one of {_expected()}"
        )
    return codes


def refuse_images(codes: np.ndarray, *, name: str, describe_row: Callable[[int], str]) -> None:
    """Refuse rows as they were before an update, where rows are ordered by their values.

    By its value such a row could come after the update that it belongs to.

    Args:
        codes: the action code of each row.
        name: of the action column, for messages.
        describe_row: how a message names a row by its number.

    Raises:
        InvalidInputError: with the first of them.
    """
    images = np.flatnonzero(codes == Action.UPDATE_BEFORE)
    if images.size:
        raise InvalidInputError(
            f"action column {name!r} is an update's old row in {describe_row(int(images[0]))}; the "
            "table has ordering columns, which decide between the rows themselves; leave old rows "
            "out, and give a key that goes as a delete"
        )


def refuse_removals(codes: np.ndarray, *, name: str, describe_row: Callable[[int], str]) -> None:
    """Refuse deletes and old rows, where nothing can be taken off what a key has.

    Args:
        codes: the action code of each row.
        name: of the action column, for messages.
        describe_row: how a message names a row by its number.

    Raises:
        InvalidInputError: with the first of them.
    """
    removals = np.flatnonzero(~is_insert(codes))
    if removals.size:
        raise InvalidInputError(
            f"action column {name!r} removes a row in {describe_row(int(removals[0]))}; the table "
            "has a merge engine, so expected inserts and new rows only"
        )


def is_insert(codes: np.ndarray) -> np.ndarray:
    """Return which action codes put a row into the table."""
    return np.isin(codes, (Action.INSERT, Action.UPDATE_AFTER))


def _expected() -> str:
    return ", ".join(SPELLINGS)
