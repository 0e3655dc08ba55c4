"""Parquet files that a write reads in its own tasks: which they are, and what each task reads.

Rules:
    - Only files of the table's own store are read so: nothing else is known to open for it.
    - Files that others replaced since they were listed are left to whoever lists them again.

Memory: of a task, a chunk of rows and a run of row groups that is read (64 MiB, or one of them).

Must not know: Spark, how rows become files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pyarrow as pa

from arctic.errors import FormatError, InvalidInputError, StorageError, UnsupportedError
from arctic.iceberg.storage.far_threads import far_threads
from arctic.iceberg.storage.table_io import TableIO
from arctic.job.write.write_job import WriteJob
from arctic.mor.files.parquet_footer import Size
from arctic.mor.files.parquet_input import ParquetInput
from arctic.writing.target import CHUNK_ROWS

REFUSED = (InvalidInputError, UnsupportedError, FormatError)
"""What a task meets in rows that Spark is to deliver, for it says what is wrong with them."""

G = TypeVar("G")


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeFiles:
    """Files all of whose rows are to be written."""

    paths: tuple[str, ...]
    size_bytes: int
    """Of all of them, when they were listed."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Columns that have another name in the files."""

    def sources(self, incoming: pa.Schema) -> dict[str, str]:
        """Return what each column of the rows is called in the files."""
        return {name: self.renamed.get(name, name) for name in incoming.names}

    def stored(self, incoming: pa.Schema) -> pa.Schema:
        """Return the columns of the rows as the files call them."""
        sources = self.sources(incoming)
        return pa.schema([each.with_name(sources[each.name]) for each in incoming])


@dataclass(frozen=True, slots=True, kw_only=True)
class FileShare:
    """What one task reads and writes; pickles."""

    number: int
    """Of the task: rows of a greater number come later."""
    parts: tuple[tuple[str, Size, tuple[int, ...]], ...]
    """Path and size of a file, and which of its row groups, in the order of their rows."""
    columns: pa.Schema
    """Which, and what becomes of them."""
    sources: tuple[str, ...]
    """What each of them is called in the files."""
    rows: int

    def batches(self, open_file: Callable[[str], Any]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, in order.

        Raises:
            FormatError: a file is not the one that was planned, or is damaged.
            StorageError: it cannot be read.
        """
        for path, size, numbers in self.parts:
            with ParquetInput(path, open_file, size) as parquet:
                for some in _neighbours(numbers):
                    for _, batch in parquet.batches(self.sources, some, CHUNK_ROWS):
                        columns = [
                            batch.column(source).cast(each.type)
                            for source, each in zip(self.sources, self.columns, strict=True)
                        ]
                        yield pa.RecordBatch.from_arrays(columns, schema=self.columns)


def joined(shares: Sequence[FileShare]) -> FileShare:
    """Return what one task reads that reads for all of some, in their order.

    Args:
        shares: at least one, of the same columns.
    """
    return replace(
        shares[0],
        parts=tuple(part for share in shares for part in share.parts),
        rows=sum(share.rows for share in shares),
    )


def _neighbours(numbers: Sequence[int]) -> Iterator[range]:
    """Yield row groups that follow one another in a file, in the order that they are given in.

    To find one by itself takes as long as to find all that are read with it.

    >>> list(_neighbours([3, 4, 5, 1, 0, 7]))
    [range(3, 6), range(1, 2), range(0, 1), range(7, 8)]
    """
    for _, some in groupby(enumerate(numbers), lambda placed: placed[1] - placed[0]):
        found = [number for _, number in some]
        yield range(found[0], found[-1] + 1)


def source_access(job: WriteJob) -> TableIO:
    """Return what opens the files of a load: no cache, for others may replace them."""
    return job.found().io.without_cache()


def all_footers(
    job: WriteJob,
    files: WholeFiles,
    footer: Callable[[int, Callable[[str], Any]], tuple[Size, Iterable[G]] | None],
) -> tuple[Sequence[Size], Sequence[G]] | None:
    """Return the sizes of files, and the row groups of all of them; None: Spark is to read them.

    Args:
        job: the write of their rows.
        files: whose footers are asked for.
        footer: reads the footer of the file with a number, given what opens a path.
    """
    access = source_access(job)
    if {*map(_store, files.paths)} != {_store(access.location)}:
        return None

    def read(file: int) -> tuple[Size, Iterable[G]] | None:
        return footer(file, access.open_input)

    try:
        found = list(far_threads().map(read, range(len(files.paths))))
    except (StorageError, FormatError, UnsupportedError):
        return None
    footers = [each for each in found if each is not None]
    sizes = [size for size, _ in footers]
    is_same = sum(size.size_bytes for size in sizes) == files.size_bytes
    if len(footers) < len(found) or not is_same:
        return None
    return sizes, list(chain.from_iterable(groups for _, groups in footers))


def _store(location: str) -> tuple[str, str]:
    """Return where a path leads to, as far as its beginning says.

    >>> _store("/lake"), _store("file:///x"), _store("s3a://lake/x"), _store("s3://lake")
    (('file', ''), ('file', ''), ('s3', 'lake'), ('s3', 'lake'))
    """
    parts = urlsplit(location)
    scheme = parts.scheme or "file"
    return "s3" if scheme in ("s3a", "s3n") else scheme, parts.netloc
