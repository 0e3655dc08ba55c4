"""What a file tells of how often the values of a column repeat: its dictionaries.

Must not know: who wants to know.
"""

from __future__ import annotations

from collections.abc import Sequence

from arctic.mor.files.file_columns import FileColumns
from arctic.mor.files.parquet_footer import Size, dictionary_bytes
from arctic.mor.files.parquet_input import ParquetInput
from arctic.mor.request import OpenFile, ReadRequest
from arctic.table.files import TableFile


def dictionary_sizes(
    file: TableFile, field_ids: Sequence[int], request: ReadRequest, open_file: OpenFile
) -> list[int | None]:
    """Return the stored bytes of each column's dictionary in the largest row group.

    Args:
        file: the file.
        field_ids: of the columns.
        request: the read that the file is part of.
        open_file: how a path is opened for reading.

    Returns:
        None for a column that has none there.
    """
    with ParquetInput(file.path, open_file, Size.of(file)) as parquet:
        names = FileColumns(file, parquet.schema, request).names
        metadata = parquet.metadata
        widest = max(parquet.row_groups, key=lambda number: metadata.row_group(number).num_rows)
        found = []
        for number in field_ids:
            name = names.get(number)
            leaf = None if name is None or parquet.is_signed else parquet.leaf_column(name)
            chunk = None if leaf is None else metadata.row_group(widest).column(leaf)
            found.append(None if chunk is None else dictionary_bytes(chunk))
    return found
