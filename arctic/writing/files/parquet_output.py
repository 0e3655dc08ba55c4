"""One Parquet file that is being written: row groups go in, the footer comes out.

Rules:
    - Nothing is created before the first row group.
    - Used by one thread at a time, not always the same one.

Memory: the row group being written, twice where it must be cast.

Must not know: destinations, tasks, what rows mean.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from arctic.errors import StorageError
from arctic.table import footer_checksum
from arctic.writing.files.bloom_filters import LEAST_KEYS, bloom_options
from arctic.writing.files.encoding import choose_encoding
from arctic.writing.target import WriteOptions, WriteTarget

_END_BYTES = 8
"""The length of the footer and the magic."""


class ParquetOutput:
    """A file under way."""

    def __init__(
        self, target: WriteTarget, path: str, schema: pa.Schema, *, sought: Sequence[str] = ()
    ) -> None:
        """Describe a file.

        Args:
            target: the table.
            path: of the file.
            schema: of its rows.
            sought: columns of the key, where rows lie in no order of it; see ``bloom_options``.
        """
        self.path = path
        self.size_bytes = 0
        """Of what is written so far."""
        self.row_count = 0
        self.footer = b""
        """The file's metadata as a Parquet file without rows, once it is finished."""
        self._target = target
        self._schema = schema
        self._sought = sought
        self._sink: Any = None
        self._file: Any = None
        self._writer: Any = None
        self._footers: list[Any] = []
        self._has_blooms = False

    def write(self, rows: pa.Table) -> None:
        """Write one row group.

        Args:
            rows: the columns of the schema, in order; large_string and large_binary may stand for
                string and binary.

        Raises:
            StorageError: the file could not be created or written.
        """
        row_group = _as_schema(rows, self._schema)
        with self._storage_errors():
            if self._writer is None:
                self._create(row_group)
            self._writer.write_table(row_group, row_group_size=rows.num_rows)
            self.row_count += rows.num_rows
            self.size_bytes = self._file.tell()

    def finish(self) -> None:
        """Complete the file.

        Raises:
            StorageError: it could not be written.
        """
        with self._storage_errors():
            checksums = {footer_checksum.KEY: footer_checksum.unknown(self.path)}
            if self._has_blooms:
                checksums[footer_checksum.INDEX_KEY] = footer_checksum.unknown_indexes(self.path)
            self._writer.add_key_value_metadata(checksums)
            self._file.hold_footer()
            self._writer.close()
            self._file.write_footer()
            self.size_bytes = self._sink.tell()
            self._sink.close()
        self.footer = _footer_bytes(self._footers[-1])
        # Thousands of files may be finished before the task is, and each stream has a buffer.
        self._writer = self._file = self._sink = None
        self._footers.clear()

    def abandon(self) -> None:
        """Close what is open, and fail in nothing: the failure that led here is the one to see."""
        if self._writer is not None:
            with contextlib.suppress(OSError, pa.ArrowException, RuntimeError):
                self._writer.close()
        if self._sink is not None:
            with contextlib.suppress(OSError, pa.ArrowException):
                self._sink.close()

    def _create(self, first: pa.Table) -> None:
        self._sink = self._target.create_output(self.path)
        self._file = FooterSink(self.path, self._sink)
        indexed = self._target.options.indexed
        sought = self._sought if first.num_rows >= LEAST_KEYS else ()
        blooms = bloom_options(first, indexed, sought) if indexed or sought else {}
        self._has_blooms = bool(blooms)
        self._writer = pq.ParquetWriter(
            pa.PythonFile(self._file, mode="w"),
            self._schema,
            metadata_collector=self._footers,
            **_parquet_options(self._target.options, first),
            **blooms,
        )

    @contextlib.contextmanager
    def _storage_errors(self) -> Iterator[None]:
        try:
            yield
        except StorageError:
            raise
        except OSError as error:
            raise StorageError(f"data file {self.path!r} could not be written: {error}") from error


def _parquet_options(options: WriteOptions, first: pa.Table) -> dict[str, Any]:
    codec, level = options.compression, options.compression_level
    is_plain = codec == "uncompressed"
    encoding = choose_encoding(
        first,
        dictionary_bytes=options.dictionary_bytes,
        allow_delta=options.delta_encoding,
        codec=None if is_plain else pa.Codec(codec, level),
    )
    delta = dict.fromkeys(encoding.delta, "DELTA_BINARY_PACKED")
    codecs: Any = "none" if is_plain else codec
    levels: Any = level
    if encoding.compressed is not None:
        # Columns that are not named have no codec, and no level.
        codecs = dict.fromkeys(encoding.compressed, codec)
        levels = None if level is None else dict.fromkeys(encoding.compressed, level)
    return {
        "use_dictionary": list(encoding.dictionary) or False,
        "column_encoding": delta or None,
        "dictionary_pagesize_limit": options.dictionary_bytes,
        "compression": codecs,
        "compression_level": levels,
        # As Iceberg asks for: decimals up to 18 digits are integers.
        "store_decimal_as_integer": True,
        "write_statistics": True,
        "write_page_checksum": True,
        # Readers that know them, as Spark's, leave out pages by their bounds.
        "write_page_index": True,
        # The types of the table say it all; the copy would triple the footer of a narrow table.
        "store_schema": False,
    }


def _footer_bytes(metadata: Any) -> bytes:
    sink = pa.BufferOutputStream()
    metadata.write_metadata_file(sink)
    return bytes(sink.getvalue())


def _as_schema(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [
        column if column.type == wanted.type else pc.cast(column, wanted.type)
        for column, wanted in zip(rows.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


class FooterSink:
    """A Python file around the one that is written; closing it is up to its owner.

    Data passes through, the footer is held until it is sealed.
    """

    def __init__(self, path: str, output: Any) -> None:
        self._path = path
        self._output = output
        self._at = 0
        self._footer: list[bytes] | None = None
        self.closed = False

    def write(self, data: Any) -> int:
        """Write, or hold what belongs to the footer."""
        size = memoryview(data).nbytes
        if self._footer is None:
            self._output.write(data)
        else:
            self._footer.append(bytes(data))
        self._at += size
        return size

    def tell(self) -> int:
        """Return how much was given to ``write``."""
        return self._at

    def flush(self) -> None:
        """Do nothing: the file below has a buffer of its own."""

    def close(self) -> None:
        """Do nothing: a writer may close what it did not open."""
        self.closed = True

    def hold_footer(self) -> None:
        """Hold what follows."""
        self._footer = []

    def write_footer(self) -> None:
        """Write what was held, the footer with its checksum."""
        assert self._footer is not None
        held = b"".join(self._footer)
        # Page indexes and bloom filters come first; the last bytes say where the footer begins.
        start = len(held) - _END_BYTES - int.from_bytes(held[-_END_BYTES:-4], "little")
        indexes, footer = held[:start], held[start:]
        self._output.write(indexes)
        begins = self._at - len(held)
        self._output.write(
            footer_checksum.sealed(self._path, footer, indexes=indexes, start=begins)
        )
        self._footer = None
