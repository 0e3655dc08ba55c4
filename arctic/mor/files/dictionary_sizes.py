"""What a file tells of how often the values of a column repeat: its dictionaries.

Must not know: who wants to know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arctic.mor.files.file_columns import FileColumns
from arctic.mor.files.parquet_footer import Size, dictionary_bytes
from arctic.mor.files.parquet_input import ParquetInput
from arctic.mor.request import OpenFile, ReadRequest
from arctic.table.files import TableFile


@dataclass(frozen=True, slots=True, kw_only=True)
class DictionarySizes:
    """What a row group tells."""

    rows: int
    """That it has."""
    stored_bytes: tuple[int | None, ...]
    """Of the dictionary of each column; None: it has none there."""


def dictionary_sizes(
    file: TableFile, field_ids: Sequence[int], request: ReadRequest, open_file: OpenFile
) -> DictionarySizes:
    """Return what the largest row group tells of some columns.

    Args:
        file: the file.
        field_ids: of the columns.
        request: the read that the file is part of.
        open_file: how a path is opened for reading.
    """
    with ParquetInput(file.path, open_file, Size.of(file)) as parquet:
        names = FileColumns(file, parquet.schema, request).names
        metadata = parquet.metadata
        groups = [metadata.row_group(number) for number in parquet.row_groups]
        widest = max(groups, key=lambda group: group.num_rows)
        found = []
        for number in field_ids:
            name = names.get(number)
            leaf = None if name is None or parquet.is_signed else parquet.leaf_column(name)
            chunk = None if leaf is None else widest.column(leaf)
            found.append(None if chunk is None else dictionary_bytes(chunk))
    return DictionarySizes(rows=widest.num_rows, stored_bytes=tuple(found))
