"""Values as messages show them, also dates that Python has no value for.

Must not know: tables.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.types as pt

from arctic.columns.calendar import date_text, timestamp_text


def key_text(rows: pa.RecordBatch | pa.Table, row: int, key: Sequence[str]) -> str:
    """Return the key of a row as ``id=1, day=2024-02-29``."""
    return ", ".join(f"{name}={value_text(rows.column(name)[row])}" for name in key)


def value_text(value: pa.Scalar) -> str:
    """Return one value."""
    try:
        return repr(value.as_py())
    except (OverflowError, ValueError):
        if pt.is_date32(value.type):
            return date_text(value.value)
        if pt.is_timestamp(value.type) and value.type.unit == "us":
            return timestamp_text(value.value)
        return str(value.cast(pa.string()).as_py())
