"""The parts of a Parquet file that will be read, for files that like to know.

A file of which parts are elsewhere fetches what is missing side by side once it is told; Arrow asks
a Python file for one part after the other. Neighbouring row groups are read together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import pyarrow as pa

from arctic.columns.field_ids import child_fields

RUN_BYTES = 64 * 2**20
"""Uncompressed bytes of row groups that are read together; one larger row group is one run."""


class Run(NamedTuple):
    """Neighbouring row groups."""

    row_groups: tuple[int, ...]
    first_row: int
    """Number of the first row in the whole file, from 0."""

    def places(self, metadata: Any) -> Iterator[tuple[int, int, int]]:
        """Yield each row group, with its first row in the run and the end of its rows."""
        start = 0
        for number in self.row_groups:
            end = start + metadata.row_group(number).num_rows
            yield number, start, end
            start = end


def runs(metadata: Any, row_groups: Collection[int]) -> Iterator[Run]:
    """Yield neighbouring row groups that are read together, of those that are wanted."""
    row, run_bytes = 0, 0
    run: list[int] = []
    run_row = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        wanted = number in row_groups
        if run and (not wanted or run_bytes + group.total_byte_size > RUN_BYTES):
            yield Run(tuple(run), run_row)
            run = []
        if wanted:
            if not run:
                run_row, run_bytes = row, 0
            run.append(number)
            run_bytes += group.total_byte_size
        row += group.num_rows
    if run:
        yield Run(tuple(run), run_row)


@runtime_checkable
class FetchingFile(Protocol):
    """An open file that is told what will be read of it, and whether it made sense."""

    def fetch(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Have parts at hand: the begin and the length of each."""

    def forget(self) -> None:
        """Keep nothing of the file: it makes no sense."""


def column_ranges(
    metadata: Any, schema: pa.Schema, row_groups: Iterable[int], names: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Yield begin and length of each column chunk of top-level columns.

    Args:
        metadata: of the file.
        schema: of the file.
        row_groups: which ones.
        names: the columns.
    """
    leaves = leaves_of(schema, names)
    for number in row_groups:
        group = metadata.row_group(number)
        for leaf in leaves:
            chunk = group.column(leaf)
            start = chunk.data_page_offset
            if chunk.has_dictionary_page:
                start = min(start, chunk.dictionary_page_offset)
            yield start, chunk.total_compressed_size


def leaves_of(schema: pa.Schema, names: Collection[str]) -> list[int]:
    """Return the numbers of a Parquet file's columns that top-level columns take, ascending."""
    leaves: list[int] = []
    first = 0
    for field in schema:
        end = first + leaf_count(field)
        if field.name in names:
            leaves += range(first, end)
        first = end
    return leaves


def leaf_count(field: pa.Field) -> int:
    """Return how many columns of a Parquet file a field takes."""
    children = child_fields(field.type)
    return sum(map(leaf_count, children)) if children else 1
