"""What databases say of a transaction that they took back, in the words of their drivers."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import DBAPIError

from arctic.iceberg.translate import was_rolled_back


@pytest.mark.parametrize(
    ("said", "is_rolled_back"),
    [
        ({"S": "ERROR", "C": "40P01", "M": "deadlock detected"}, True),
        ({"S": "FATAL", "C": "57P01", "M": "terminating connection"}, False),
        ({}, False),
        (1213, True),
        (2013, False),
        (["40001"], False),
    ],
)
def test_the_first_argument_of_a_drivers_error(said: object, is_rolled_back: bool) -> None:
    """A dict of fields is what one of PostgreSQL's drivers says; it may be anything at all."""
    assert was_rolled_back(DBAPIError("COMMIT", {}, Exception(said))) is is_rolled_back
