"""The row groups of a file that are read at all."""

from __future__ import annotations

from arctic.mor.files.file_columns import FileColumns
from arctic.mor.files.parquet_input import ParquetInput
from arctic.mor.filters.blooms import that_may_hold
from arctic.mor.filters.prune import matching_row_groups
from arctic.mor.request import ReadRequest
from arctic.mor.touched import Touched


def row_groups_to_read(
    parquet: ParquetInput, columns: FileColumns, request: ReadRequest, touched: Touched
) -> tuple[int, ...]:
    """Return the row groups of a file that can hold a matching row; the file counts as touched."""
    in_bounds = matching_row_groups(parquet, request, columns.names, columns.constants)
    groups = that_may_hold(parquet, in_bounds, request.row_filter, columns.names)
    touched.files += 1
    touched.row_groups += len(parquet.row_groups)
    touched.outside_bounds += len(parquet.row_groups) - len(in_bounds)
    touched.outside_blooms += len(in_bounds) - len(groups)
    return groups
