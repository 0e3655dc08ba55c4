"""A row filter on the columns of one file, and the part of it that holds for deletes too.

Rules:
    - A change delete may be left out by a filter of the key alone: a row that it could kill has
      the same key, so the filter drops that row as well. Floating-point keys are left alone: two
      files may keep one value in two widths.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pat

from arctic.columns.field_ids import field_with_id, known_field_id
from arctic.mor.files.file_columns import FileColumns
from arctic.mor.filters.evaluate_filter import comparison_type, matching_rows
from arctic.mor.request import META_FIELDS, ReadRequest
from arctic.table.files import Value
from arctic.table.filters.predicate import Predicate, part_on, tests_of

Mask = npt.NDArray[np.bool_]

_META_TYPES: Mapping[int, pa.DataType] = {
    known_field_id(field): field.type for field in META_FIELDS
}


class RowTest:
    """Tests batches of one file; without a filter every row matches."""

    def __init__(self, columns: FileColumns, row_filter: Predicate | None) -> None:
        self._filter = row_filter
        self._ids = tuple(dict.fromkeys(test.field_id for test in tests_of(row_filter)))
        targets = []
        for number in self._ids:
            kind = _META_TYPES.get(number) or _constant_type(columns.constants.get(number))
            if number in columns.names:
                kind = comparison_type(columns.fields[number].type)
            targets.append(field_with_id(str(number), kind, number))
        self.projection = columns.project(targets)
        """The columns that have to be read for it, in the types in which they are compared."""

    def mask(self, batch: pa.RecordBatch) -> Mask:
        """Say for each row of a batch, which holds at least the projection, whether it matches."""
        if self._filter is None:
            return np.ones(len(batch), bool)
        columns = dict(zip(self._ids, self.projection.arrays(batch), strict=True))
        return matching_rows(self._filter, columns, len(batch))


def _constant_type(value: Value) -> pa.DataType:
    """Return the type in which a fact about a file is compared, like literals, as it is."""
    if isinstance(value, UUID):
        return pa.binary()
    return pa.scalar(value).type


def filter_of_deletes(request: ReadRequest) -> Predicate | None:
    """Return the part of a row filter that change deletes can be left out by, if any."""
    exact_ids = {known_field_id(field) for field in request.key if not pat.is_floating(field.type)}
    return part_on(request.row_filter, exact_ids)
