from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest

from arctic.columns.promotions import promotes, reads_as, takes

TABLE_TYPES = (
    pa.bool_(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.decimal128(6, 2),
    pa.decimal128(8, 2),
    pa.decimal128(8, 3),
    pa.date32(),
    pa.time64("us"),
    pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
    pa.string(),
    pa.binary(),
)
PROMOTED = {
    (pa.int32(), pa.int64()),
    (pa.float32(), pa.float64()),
    (pa.decimal128(6, 2), pa.decimal128(8, 2)),
}


@pytest.mark.parametrize(("one", "other"), list(product(TABLE_TYPES, TABLE_TYPES)), ids=str)
def test_what_promotes_is_read_and_taken(one: pa.DataType, other: pa.DataType) -> None:
    """A column that grew is read from its older files, and takes what it took before."""
    assert promotes(one, other) is ((one, other) in PROMOTED)
    assert not promotes(one, other) or (reads_as(one, other) and takes(other, one))


@pytest.mark.parametrize(
    ("wanted", "incoming", "is_taken"),
    [
        # Value by value.
        (pa.int32(), pa.uint64(), True),
        (pa.timestamp("us"), pa.timestamp("ns"), True),
        (pa.binary(2), pa.binary(), True),
        (pa.binary(2), pa.large_binary(), True),
        # Never: a rounded number is another, and no zone is no instant.
        (pa.float32(), pa.float64(), False),
        (pa.timestamp("us", "UTC"), pa.timestamp("us"), False),
        (pa.float64(), pa.int32(), False),
        (pa.binary(2), pa.binary(3), False),
        (pa.binary(2), pa.string(), False),
    ],
    ids=str,
)
def test_a_write_takes_what_fits(
    wanted: pa.DataType, incoming: pa.DataType, is_taken: bool
) -> None:
    """By the type; a value that does not fit is refused by itself."""
    assert takes(wanted, incoming) is is_taken
