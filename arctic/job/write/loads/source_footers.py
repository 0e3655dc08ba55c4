"""Footers of Parquet files that are loaded: their row groups, the keys, whether Arrow may read.

Rules:
    - Whatever a file has that Spark would read otherwise than Arrow does is left to Spark.

Must not know: Spark, what is done with the files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from arctic.mor.files.parquet_footer import INT96_UNIT, Size, is_int96
from arctic.mor.files.parquet_input import ParquetInput

_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_VERSION, _NEW_CALENDAR = b"org.apache.spark.version", b"3.1.0"
"""Before, days of the Julian calendar were written as such, by 3.0 in times of 96 bits only, and
Spark reads them so. It compares versions as texts, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedGroup:
    """One row group, and what its footer says of the first column of the key."""

    file: int
    """Number of the file."""
    number: int
    """In the file."""
    rows: int
    least: Any
    greatest: Any
    """Of the type of ``least``; no key lies outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedGroup:
    """One row group, and where in its file it lies."""

    file: int
    """Number of the file."""
    number: int
    """In the file."""
    rows: int
    middle: int
    """The byte of the file that says whose it is where several tasks of Spark's read the file."""


def source_footer(
    path: str, open_file: Callable[[str], Any], incoming: pa.Schema, first: str, *, file: int
) -> tuple[Size, list[KeyedGroup]] | None:
    """Return the size of a file and its row groups with rows; None: it is to be read by Spark.

    Args:
        path: of the file.
        open_file: opens a path for reading at any position.
        incoming: the columns that are wanted of it.
        first: the first column of the key.
        file: its number.

    Raises:
        FormatError: it is no whole Parquet file.
        StorageError: it cannot be read.
        UnsupportedError: no file system is installed for its path.
    """
    with ParquetInput(path, open_file) as parquet:
        metadata = parquet.metadata
        if not _are_read_alike(parquet, incoming):
            return None
        column = parquet.leaf_column(first)
        groups = []
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            bounds = _bounds(group.column(column), incoming.field(first).type)
            if not group.num_rows:
                continue
            if bounds is None:
                return None
            groups.append(
                KeyedGroup(
                    file=file,
                    number=number,
                    rows=group.num_rows,
                    least=bounds[0],
                    greatest=bounds[1],
                )
            )
        return Size(parquet.size_bytes, metadata.num_rows), groups


def placed_footer(
    path: str, open_file: Callable[[str], Any], incoming: pa.Schema, *, file: int
) -> tuple[Size, list[PlacedGroup]] | None:
    """Return the size of a file and its row groups with rows; None: it is to be read by Spark.

    Args:
        path: of the file.
        open_file: opens a path for reading at any position.
        incoming: the columns that are wanted of it.
        file: its number.

    Raises:
        FormatError: it is no whole Parquet file.
        StorageError: it cannot be read.
        UnsupportedError: no file system is installed for its path.
    """
    with ParquetInput(path, open_file) as parquet:
        if not _are_read_alike(parquet, incoming):
            return None
        metadata = parquet.metadata
        every = [(number, metadata.row_group(number)) for number in parquet.row_groups]
        groups = [
            PlacedGroup(file=file, number=number, rows=group.num_rows, middle=_middle(group))
            for number, group in every
            if group.num_rows
        ]
        return Size(parquet.size_bytes, metadata.num_rows), groups


def _are_read_alike(parquet: ParquetInput, incoming: pa.Schema) -> bool:
    """Say whether Arrow reads some columns of a file as Spark does."""
    texts = parquet.metadata.metadata or {}
    is_old = texts.get(_VERSION, _NEW_CALENDAR) < _NEW_CALENDAR
    if is_old or any(name in texts for name in _OLD_CALENDAR) or parquet.is_signed:
        return False
    return all(_is_read_alike(parquet, field) for field in incoming)


def _middle(group: Any) -> int:
    """Return what Parquet's own reader, which Spark has, takes for the middle of a row group."""
    chunks = [group.column(number) for number in range(group.num_columns)]
    start = chunks[0].data_page_offset
    if chunks[0].has_dictionary_page:
        start = min(start, chunks[0].dictionary_page_offset)
    return int(start + sum(chunk.total_compressed_size for chunk in chunks) // 2)


def _is_read_alike(parquet: ParquetInput, field: pa.Field) -> bool:
    """Say whether a file has a column that Arrow reads as Spark does."""
    schema = parquet.schema
    # Spark takes no notice of their case, and refuses to choose among several.
    if [name.lower() for name in schema.names].count(field.name.lower()) != 1:
        return False
    leaf = parquet.leaf_column(field.name)
    if leaf is None:
        return False
    if is_int96(schema.field(field.name)):
        # Instants, whatever Arrow makes of them.
        return bool(field.type == pa.timestamp(INT96_UNIT, "UTC"))
    return bool(schema.field(field.name).type == field.type)


def _bounds(chunk: Any, kind: pa.DataType) -> tuple[Any, Any] | None:
    """Return bounds of a chunk that order as its values do; None: its footer has none."""
    is_text = chunk.physical_type == "BYTE_ARRAY" and (pt.is_string(kind) or pt.is_binary(kind))
    if not is_text and chunk.physical_type not in ("INT32", "INT64"):
        return None
    statistics = chunk.statistics
    if statistics is None or not statistics.has_min_max:
        return None
    return statistics.min_raw, statistics.max_raw
