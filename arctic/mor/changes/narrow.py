"""Columns that were widened meanwhile, handed on with the types that a reader began with.

Rules:
    - A value that the narrower type does not hold exactly is refused, never rounded or cut.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from arctic.errors import UnsupportedError
from arctic.mor.batch import make_batch


def narrow(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the types of a schema of the same columns, by place.

    Raises:
        UnsupportedError: a value that does not fit.
    """
    if batch.schema.types == schema.types:
        return batch
    columns = [_narrow(batch.column(place), field) for place, field in enumerate(schema)]
    return make_batch(columns, schema, len(batch))


def _narrow(column: pa.Array, field: pa.Field) -> pa.Array:
    if column.type == field.type:
        return column
    cause: Exception | None = None
    try:
        narrowed = column.cast(field.type)
    except pa.ArrowInvalid as error:
        cause = error
    else:
        if not pat.is_floating(column.type) or _is_exact(column, narrowed):
            return narrowed
    raise UnsupportedError(
        f"column {field.name!r}: it was widened to {column.type}, and a value does not fit into "
        f"{field.type}, with which this query began; restart the query, it then reads {column.type}"
    ) from cause


def _is_exact(column: pa.Array, narrowed: pa.Array) -> bool:
    # A cast between floats rounds, or turns into infinity, without a word.
    same = pc.or_(pc.equal(narrowed.cast(column.type), column), pc.is_nan(column))
    return pc.all(same, min_count=0).as_py() is True
