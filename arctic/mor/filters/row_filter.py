"""What a read wants of the rows of one file, and the part of it that holds for deletes too.

Rules:
    - A change delete may be left out by a test of the key alone: a row that it could kill has
      the same key, so the test drops that row as well. Floating-point keys are left alone: two
      files may keep one value in two widths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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
from arctic.table.filters.predicate import part_on, tests_of

Mask = npt.NDArray[np.bool_]

_FEW_LEFT = 4
"""Where at most one row in so many has a value that is sought, the filter tests these alone."""

_META_TYPES: Mapping[int, pa.DataType] = {
    known_field_id(field): field.type for field in META_FIELDS
}


class RowTest:
    """Tests batches of one file; where a read wants every row, every row matches."""

    def __init__(self, columns: FileColumns, request: ReadRequest) -> None:
        self._filter = row_filter = request.row_filter
        self._among = request.among
        self._ids = tuple(dict.fromkeys(test.field_id for test in tests_of(row_filter)))
        targets = []
        for number in self._ids:
            kind = _META_TYPES.get(number) or _constant_type(columns.constants.get(number))
            if number in columns.names:
                kind = comparison_type(columns.fields[number].type)
            targets.append(field_with_id(str(number), kind, number))
        targets += () if self._among is None else self._among.fields
        self.projection = columns.project(targets)
        """The columns that have to be read for it, in the types in which they are compared."""

    @property
    def drops_rows(self) -> bool:
        """Whether some row may not match."""
        return self._filter is not None or self._among is not None

    def mask(self, batch: pa.RecordBatch) -> Mask:
        """Say for each row of a batch, which holds at least the projection, whether it matches."""
        if not self.drops_rows:
            return np.ones(len(batch), bool)
        arrays = self.projection.arrays(batch)
        tested, values = arrays[: len(self._ids)], arrays[len(self._ids) :]
        columns = dict(zip(self._ids, tested, strict=True))
        if self._among is None:
            assert self._filter is not None  # else no row is dropped
            return matching_rows(self._filter, columns, len(batch))
        mask = self._among.mask(values)
        if self._filter is None:
            return mask
        rows = np.flatnonzero(mask)
        if _FEW_LEFT * len(rows) > len(batch):
            return mask & matching_rows(self._filter, columns, len(batch))
        few = pa.array(rows)
        columns = {at: column.take(few) for at, column in columns.items()}
        mask[rows] = matching_rows(self._filter, columns, len(rows))
        return mask


def _constant_type(value: Value) -> pa.DataType:
    """Return the type in which a fact about a file is compared, like literals, as it is."""
    if isinstance(value, UUID):
        return pa.binary()
    return comparison_type(pa.scalar(value).type)


def of_keys(request: ReadRequest) -> ReadRequest:
    """Return a read that wants of rows only what change deletes can be left out by as well."""
    exact_ids = {known_field_id(field) for field in request.key if not pat.is_floating(field.type)}
    among = request.among
    return replace(
        request,
        row_filter=part_on(request.row_filter, exact_ids),
        among=among if among is not None and among.is_of(request.key) else None,
    )
