"""One opened Parquet file: its fields, its row groups, its batches with their row numbers.

Strategy: neighbouring row groups are read together as a *run*, see ``asked_ranges``: many small
row groups cost no more requests than a large one, and memory stays at one run. A file no longer
than what is read for the footer is read once, and decoded in this thread: to wake another one for
some rows takes longer than to read them.

Rules:
    - What carries a checksum is compared with it: the footer at once, pages as they are read, the
      latter unless the caller says otherwise.
    - Every failure names the path. A file that cannot be fetched is a StorageError; bytes that
      were fetched and make no sense are a FormatError.

Must not know: what a file is for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from arctic.columns.field_ids import child_fields
from arctic.errors import ArcticError, FormatError, StorageError
from arctic.mor.batch import BATCH_BYTES
from arctic.mor.files.asked_ranges import FetchingFile, column_ranges, leaf_count, leaves_of, runs
from arctic.mor.files.decoded_size import bound_of_few, nests, row_bytes
from arctic.mor.files.kept_footers import KEPT_FOOTERS
from arctic.mor.files.parquet_footer import (
    END_BYTES,
    GUESS_BYTES,
    INT96_UNIT,
    Size,
    as_native,
    check_rows,
    checked_end,
    with_int96_marked,
)
from arctic.mor.request import OpenFile
from arctic.table import footer_checksum

REPEATING_BYTES = 2
"""Uncompressed for a value: fewer than any text takes that is not the number of another."""
_PROBE_BYTES = 8 * 2**20


class ParquetInput:
    """A file that is open for reading; to be used as a context manager."""

    def __init__(
        self,
        path: str,
        open_file: OpenFile,
        expected: Size | None = None,
        *,
        verifies_pages: bool = True,
    ) -> None:
        self.path = path
        self._open_file = open_file
        self._verifies_pages = verifies_pages
        self.nests: bool | None = None
        """Whether any column does; None: nobody has looked."""
        self._source: Any = None
        self._found: Any = None
        with self._errors():
            self._source = self._found = open_file(path)
            try:
                source = as_native(self._source)
                self.size_bytes = length = int(source.size())
                self._is_small = length <= GUESS_BYTES
                if self._is_small:
                    source = pa.BufferReader(source.read_at(length, 0))
                    self._source.close()
                    self._source = source
                metadata: Any = None  # What is in memory is parsed where it lies.
                if self._is_small:
                    self._end = checked_end(path, source, expected)
                else:
                    self._end, metadata = KEPT_FOOTERS.of(path, source, expected)
                self._file = self._opened(source, metadata)
                self.metadata: Any = self._file.metadata
                check_rows(self.metadata, expected)
                self._index_end = length - self._end.footer_bytes
                self.schema = with_int96_marked(self._file.schema_arrow, self.metadata)
            except BaseException:
                self._source.close()
                raise

    def __enter__(self) -> ParquetInput:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._source.close()

    def keep_encoded(self, name: str) -> None:
        """Yield a text column as dictionaries from now on, if Arrow can: fast where it repeats."""
        leaf = self.leaf_column(name)
        if leaf is None or not _can_stay_encoded(self._chunks(leaf, self.row_groups)):
            return
        with self._errors():
            self._file = self._opened(self._source, self.metadata, read_dictionary=[name])

    def indexes(self) -> tuple[int, bytes] | None:
        """Return where the file's indexes begin, and all of them; None: nobody vouches for them.

        Raises:
            FormatError: they are damaged.
        """
        start = footer_checksum.index_start(self.path, self.metadata.metadata)
        if start is None:
            return None
        with self._errors():
            size = max(0, self._index_end - start)
            found = self._end.before_footer(size)
            if found is None:
                found = bytes(as_native(self._source).read_at(size, start))
            footer_checksum.check_indexes(self.path, self.metadata.metadata, found)
        return start, found

    @property
    def is_signed(self) -> bool:
        """Whether more than metadata is in the footer, as where columns are encrypted.

        Arrow ends the process when it is asked for the metadata of such a column.
        """
        return bool(self.metadata.serialized_size + END_BYTES != self._end.footer_bytes)

    @property
    def row_groups(self) -> range:
        """The numbers of all row groups."""
        return range(self.metadata.num_row_groups)

    def leaf_column(self, name: str) -> Any | None:
        """Return the number of a top-level column among the file's leaves; None if it nests."""
        at = 0
        for field in self.schema:
            if field.name == name:
                return None if child_fields(field.type) else at
            at += leaf_count(field)
        return None

    def read(self, names: Sequence[str]) -> pa.Table:
        """Return top-level columns of all rows, in the order of ``names``."""
        schema = pa.schema([self.schema.field(name) for name in names])
        every = self.batches(names, self.row_groups, max(self.metadata.num_rows, 1))
        return pa.Table.from_batches((batch.select(list(names)) for _, batch in every), schema)

    def repeating(self, names: Collection[str], row_groups: Collection[int]) -> list[str]:
        """Return text columns that some row groups hold as numbers of few different values."""
        found = []
        for name in names:
            leaf = (
                self.leaf_column(name) if pa.types.is_string(self.schema.field(name).type) else None
            )
            if leaf is None:
                continue
            chunks = self._chunks(leaf, row_groups)
            size = sum(chunk.total_uncompressed_size for chunk in chunks)
            count = sum(chunk.num_values for chunk in chunks)
            if size <= REPEATING_BYTES * count and _can_stay_encoded(chunks):
                found.append(name)
        return found

    def _chunks(self, leaf: int, row_groups: Iterable[int]) -> list[Any]:
        return [self.metadata.row_group(each).column(leaf) for each in row_groups]

    def batches(
        self,
        names: Sequence[str],
        row_groups: Collection[int],
        batch_rows: int,
        *,
        encoded: Sequence[str] = (),
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield top-level columns of some row groups.

        Args:
            names: columns to read; none is fine and yields batches without columns.
            row_groups: which ones, ascending.
            batch_rows: upper bound of a batch, inclusive; wide rows come in smaller ones, of
                about ``BATCH_BYTES``.
            encoded: text columns that are to come as dictionaries.

        Yields:
            The number of a batch's first row in the whole file, and the batch; none is empty.
        """
        file = self._file
        if encoded:
            with self._errors():
                file = self._opened(self._source, self.metadata, read_dictionary=list(encoded))
        for run in runs(self.metadata, row_groups):
            row = run.first_row
            end = row + sum(self.metadata.row_group(each).num_rows for each in run.row_groups)
            with self._errors():
                batches = self._batches(file, list(run.row_groups), list(names), batch_rows)
            while True:
                with self._errors():
                    batch = next(batches, None)
                if batch is None:
                    break
                if batch.num_rows:
                    yield row, batch
                row += batch.num_rows
            if row != end:
                raise FormatError(
                    f"file {self.path!r}: row groups {run.row_groups} end at row {row}; expected "
                    f"{end}, as the footer says"
                )

    def _batches(
        self, file: Any, row_groups: list[int], names: list[str], batch_rows: int
    ) -> Iterator[pa.RecordBatch]:
        if not self._is_small and isinstance(self._found, FetchingFile):
            self._found.fetch(column_ranges(self.metadata, self.schema, row_groups, names))
        size = self.row_bytes(row_groups, names)
        rows = min(batch_rows, max(1, BATCH_BYTES // size))
        total = sum(self.metadata.row_group(each).num_rows for each in row_groups)
        if self._is_small and total * size <= BATCH_BYTES:
            read = file.read_row_groups(row_groups, columns=names, use_threads=False)
            return iter(read.to_batches(max_chunksize=rows))
        return iter(file.iter_batches(rows, row_groups=row_groups, columns=names))

    def row_bytes(self, row_groups: Collection[int], names: Collection[str]) -> int:
        """Return how many bytes some columns of a row take, as far as can be told beforehand."""
        self.nests = nests(self.schema) if self.nests is None else self.nests
        bound = bound_of_few(self.metadata, row_groups, nests=self.nests)
        if bound is not None:
            return bound
        leaves = leaves_of(self.schema, names)
        return row_bytes(self.metadata, row_groups, leaves, as_native(self._source))

    def decoded_bytes(self, row_groups: Collection[int], names: Collection[str]) -> int:
        """Return how many bytes some columns of row groups take, as far as can be told."""
        rows = sum(self.metadata.row_group(each).num_rows for each in row_groups)
        return int(rows * self.row_bytes(row_groups, names))

    def _opened(self, source: Any, metadata: Any, **more: Any) -> Any:
        return pq.ParquetFile(
            source,
            pre_buffer=not self._is_small,
            metadata=metadata,
            page_checksum_verification=self._verifies_pages,
            coerce_int96_timestamp_unit=INT96_UNIT,
            **more,
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except FormatError:
            self._forget()
            raise
        except (ArcticError, MemoryError):
            raise
        except OSError as error:
            # Arrow raises a plain OSError without a number for bytes that it cannot decode, and
            # for some remote failures. Whether the bytes can be fetched tells the two apart.
            plain = type(error) is OSError and error.errno is None
            if plain and self._can_be_fetched():
                raise self._corrupt(error) from error
            raise StorageError(f"cannot read file {self.path!r}: {error}") from error
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise self._corrupt(error) from error

    def _forget(self) -> None:
        KEPT_FOOTERS.drop(self.path)
        if isinstance(self._found, FetchingFile):
            self._found.forget()

    def _corrupt(self, error: Exception) -> FormatError:
        self._forget()
        return FormatError(
            f"file {self.path!r}: {error}; expected a whole Parquet file as it was written"
        )

    def _can_be_fetched(self) -> bool:
        try:
            source = self._open_file(self.path)
            try:
                while source.read(_PROBE_BYTES):
                    pass
            finally:
                source.close()
        except OSError:
            return False
        return True


def _can_stay_encoded(chunks: Iterable[Any]) -> bool:
    """Say whether Arrow makes dictionaries of a text: it fails at some that others write."""
    return not any(each.startswith("DELTA") for chunk in chunks for each in chunk.encodings)
