"""Rows with one of many keys: which rows of a batch, and which row groups can hold one.

Rules:
    - It spares reading what nobody asked for and is no filter: where a table folds its rows,
      others may come all the same.
    - Values are equal as those of keys are: null equals null.

Memory: the values, and an index of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pat

from arctic.columns.field_ids import known_field_id
from arctic.columns.key_codes import KeyIndex
from arctic.mor.filters.key_span import KeySpans
from arctic.table.files import ColumnBounds


class Among:
    """Values that some columns have together: the ``RowValues`` of a read."""

    def __init__(self, values: pa.Table) -> None:
        """Take the values: columns with field ids, of types that keys can have."""
        self._values = values
        self._fields = tuple(values.schema)
        self._index = KeyIndex(values)
        self._index.take_codes()
        self._spans = KeySpans(values)

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """The columns, with field ids."""
        return self._fields

    @property
    def values(self) -> pa.Table:
        """The values themselves, in columns of ``fields``."""
        return self._values

    def mask(self, columns: Sequence[pa.Array]) -> npt.NDArray[np.bool_]:
        """Say for each row of the columns of ``fields`` whether it has one of the values."""
        mask = np.zeros(len(columns[0]), bool)
        mask[self._index.match(columns)[0]] = True
        return mask

    def may_hold(self, bounds: Sequence[ColumnBounds | None]) -> bool:
        """Say whether a row within bounds, one for each of ``fields``, can have a value."""
        return self._spans.meet(bounds)

    def is_of(self, key: pa.Schema) -> bool:
        """Say whether rows of one key all have a value, or none: also those that delete the key.

        Two files may keep one number that rounds in two widths, so these are left alone.
        """
        exact = {known_field_id(field) for field in key if not pat.is_floating(field.type)}
        return all(known_field_id(field) in exact for field in self.fields)
