"""Action columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from arctic.errors import InvalidInputError
from arctic.writing.rows.actions import (
    SPELLINGS,
    Action,
    check_action_type,
    is_insert,
    read_actions,
)


def test_every_spelling_is_read() -> None:
    """Letters, Flink's row kinds and Debezium's ops, in one column."""
    codes = read_actions(pa.array(list(SPELLINGS)), name="op", describe_row=str)

    assert [Action(code) for code in codes] == list(SPELLINGS.values())
    assert {text: action.name for text, action in SPELLINGS.items()} == {
        **dict.fromkeys(["I", "i", "+I", "c", "r"], "INSERT"),
        **dict.fromkeys(["U", "u", "+U"], "UPDATE_AFTER"),
        "-U": "UPDATE_BEFORE",
        **dict.fromkeys(["D", "d", "-D"], "DELETE"),
    }


@pytest.mark.parametrize("value", ["", "x", "+i", "C", "R", " I", "insert", "+D", "UD", None])
def test_an_unknown_action_is_refused_with_its_row(value: str | None) -> None:
    """A guess would keep or kill a row."""
    column = pa.array(["I", "D", value, "U"])

    with pytest.raises(InvalidInputError) as caught:
        read_actions(column, name="op", describe_row=lambda row: f"row {row}")

    assert f"action column 'op' is {value!r} in row 2; expected one of I, i" in caught.value.message


def test_an_empty_batch_has_no_actions() -> None:
    """Nothing to refuse."""
    assert len(read_actions(pa.array([], pa.string()), name="op", describe_row=str)) == 0


def test_rows_that_enter_the_table_are_told_apart() -> None:
    """Inserts and after-images."""
    codes = read_actions(pa.array(["I", "-U", "+U", "D"]), name="op", describe_row=str)

    assert is_insert(codes).tolist() == [True, False, True, False]


def test_an_action_column_is_text() -> None:
    """In whatever form text comes."""
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        check_action_type(pa.field("op", kind))
    check_action_type(pa.field("op", pa.dictionary(pa.int8(), pa.string())))
    for kind in (pa.int32(), pa.binary(), pa.dictionary(pa.int8(), pa.int32())):
        with pytest.raises(InvalidInputError, match=r"action column 'op' is .*expected text"):
            check_action_type(pa.field("op", kind))
