"""Which columns a table gets from a frame, decided from the two lists of columns alone."""

from __future__ import annotations

import pyarrow as pa
import pytest

from arctic.errors import InvalidInputError
from arctic.writing.conform.merged_columns import merged_columns

TABLE = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("n", pa.int32()),
        pa.field("x", pa.float32()),
        pa.field("price", pa.decimal128(6, 2)),
        pa.field("at", pa.timestamp("us")),
    ]
)


def merged(*fields: tuple[str, pa.DataType]) -> tuple[dict[str, pa.Field], dict[str, pa.DataType]]:
    """Return what is added and what is widened."""
    found = merged_columns(
        pa.schema(fields), TABLE, table_name="shop.t", helpers=("op",), held=("id",)
    )
    assert bool(found) == bool(found.add or found.widen)
    return found.add, found.widen


def test_new_columns_take_null_and_wider_types_are_taken() -> None:
    """In the order of the frame; what the write reads for itself is no column."""
    add, widen = merged(
        ("zip", pa.string()),
        ("n", pa.int64()),
        ("x", pa.float64()),
        ("price", pa.decimal128(9, 2)),
        ("op", pa.string()),
        ("note", pa.dictionary(pa.int8(), pa.string())),
    )

    assert list(add.values()) == [pa.field("zip", pa.string()), pa.field("note", pa.string())]
    assert widen == {"n": pa.int64(), "x": pa.float64(), "price": pa.decimal128(9, 2)}


def test_nothing_is_narrowed_or_changed_else() -> None:
    """The key stays; a type that the table cannot become is for others to refuse."""
    assert merged(
        ("id", pa.int64()),
        ("n", pa.int16()),
        ("x", pa.float32()),
        ("price", pa.decimal128(9, 3)),
        ("at", pa.string()),
    ) == ({}, {})


def test_the_columns_afterwards() -> None:
    """Those of the table in their order, then the new ones."""
    found = merged_columns(
        pa.schema([("zip", pa.string()), ("n", pa.int64())]),
        TABLE,
        table_name="shop.t",
        helpers=(),
        held=(),
    )

    assert found.applied(TABLE).names == [*TABLE.names, "zip"]
    assert found.applied(TABLE).field("n").type == pa.int64()


@pytest.mark.parametrize("names", [("N",), ("new", "New")])
def test_a_name_in_other_letters_is_refused(names: tuple[str, ...]) -> None:
    """SQL would not tell the two apart."""
    with pytest.raises(InvalidInputError, match=rf"column '{names[-1]}' is not added"):
        merged(*((name, pa.int32()) for name in names))
