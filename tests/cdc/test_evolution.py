"""How a table's columns follow those of its source."""

from __future__ import annotations

import pyarrow as pa

from arctic.cdc.evolution import ColumnChange, change_by_number
from arctic.cdc.postgres_types import source_column


def test_a_text_that_becomes_bytes_is_a_column_of_its_own() -> None:
    """No text holds bytes, so the column goes and comes anew; other types stay in a text."""
    table = pa.schema([("id", pa.int64()), ("v", pa.string()), ("d", pa.string())])
    source = [
        source_column(name, type_, position=number)
        for number, (name, type_) in enumerate([("id", "bigint"), ("v", "bytea"), ("d", "date")])
    ]

    change = change_by_number(table, {0: "id", 1: "v", 2: "d"}, source)

    assert change == ColumnChange(add={"v": pa.binary()}, drop=("v",))
