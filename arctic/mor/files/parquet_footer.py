"""The footer of a Parquet file, compared with its checksum and with what is known of the file.

Times of 96 bits, as Hive, Impala and Spark write them, are marked in its columns: the file does not
say whether they are instants, and Arrow takes them for times without a zone. Iceberg reads them as
either, whichever the column of the table is.

Rules:
    - One request for most files: the footer is taken from the end of what is read at once.
    - Times of 96 bits come in microseconds, as tables have them: there are none in nanoseconds for
      all years. What is finer is cut off, as by Iceberg and Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from arctic.columns.field_ids import child_fields, with_child_fields
from arctic.table import footer_checksum
from arctic.table.files import TableFile, WrittenFile

_MAGIC = b"PAR1"
END_BYTES = 8
"""The length of the footer and the magic."""
GUESS_BYTES = 64 * 2**10
"""Read from the end of a file, where its footer is expected."""
INT96_UNIT = "us"
"""Of times of 96 bits, for pyarrow."""
_WITHOUT_ZONE = str(pa.timestamp(INT96_UNIT))
_MARK = b"arctic.int96"


class Size(NamedTuple):
    """What metadata says of a file."""

    size_bytes: int
    record_count: int

    @classmethod
    def of(cls, file: TableFile | WrittenFile) -> Size:
        """Return what is known of a listed or a written file."""
        return cls(file.size_bytes, file.record_count)


class FileEnd(NamedTuple):
    """The end of a file, read at once."""

    content: bytes
    footer_bytes: int

    @property
    def footer(self) -> bytes:
        """The footer, to the end of the file."""
        return self.content[-self.footer_bytes :]

    def before_footer(self, size: int) -> bytes | None:
        """Return so many bytes that lie before the footer; None: they have not been read."""
        start = len(self.content) - self.footer_bytes - size
        return None if start < 0 else self.content[start : start + size]


def dictionary_bytes(chunk: Any) -> int | None:
    """Return how long the dictionary of a column chunk is as it is stored; None: it has none."""
    if not chunk.has_dictionary_page:
        return None
    return int(chunk.data_page_offset - chunk.dictionary_page_offset)


def as_native(source: Any) -> Any:
    """Return what reads at any place; a Python file is wrapped."""
    return source if isinstance(source, pa.NativeFile) else pa.PythonFile(source, mode="r")


def checked_end(path: str, source: Any, expected: Size | None) -> FileEnd:
    """Return the end of a file, with its footer.

    Args:
        path: for messages and for the checksum.
        source: the open file.
        expected: what a manifest says of the file; None: nothing is known.

    Raises:
        FormatError: a wrong checksum.
        ArrowInvalid: no Parquet file, or one of another size than expected.
    """
    end = _end(source, checked_size(source, expected))
    footer_checksum.check(path, end.footer)
    return end


def checked_size(source: Any, expected: Size | None) -> int:
    """Return how long a file is; raises ArrowInvalid where it is not as long as expected."""
    size = int(source.size())
    if expected is not None and size != expected.size_bytes:
        raise pa.ArrowInvalid(f"it has {size} bytes, and {expected.size_bytes} by its manifest")
    return size


def metadata_in(footer: bytes) -> Any:
    """Return a file's metadata; raises ArrowInvalid where the footer is none."""
    return pq.read_metadata(pa.BufferReader(_MAGIC + footer))


def check_rows(metadata: Any, expected: Size | None) -> None:
    """Refuse a file of another number of rows than expected; raises ArrowInvalid."""
    rows = metadata.num_rows
    if expected is not None and rows != expected.record_count:
        raise pa.ArrowInvalid(f"it has {rows} rows, and {expected.record_count} by its manifest")


def _end(source: Any, size: int) -> FileEnd:
    tail = bytes(source.read_at(min(size, GUESS_BYTES), max(0, size - GUESS_BYTES)))
    if len(tail) < len(_MAGIC) + END_BYTES or not tail.endswith(_MAGIC):
        raise pa.ArrowInvalid("it does not end as a Parquet file")
    length = int.from_bytes(tail[-END_BYTES : -len(_MAGIC)], "little") + END_BYTES
    if length > size - len(_MAGIC):
        raise pa.ArrowInvalid(f"its footer of {length} bytes is longer than the file")
    if length > len(tail):
        tail = bytes(source.read_at(length, size - length))
    return FileEnd(tail, length)


def with_int96_marked(schema: pa.Schema, metadata: Any) -> pa.Schema:
    """Return the columns of a file, those of 96 bits so that ``is_int96`` knows them.

    Args:
        schema: of the file, with such times in ``INT96_UNIT``.
        metadata: of the file.
    """
    # The text of all types takes a sixth of the time of a look at each.
    types = schema.to_string(show_field_metadata=False, show_schema_metadata=False)
    if _WITHOUT_ZONE not in types:
        return schema
    leaves = (metadata.schema.column(leaf) for leaf in range(metadata.num_columns))
    fields = [_marked(field, leaves) for field in schema]
    return pa.schema(fields, schema.metadata)


def is_int96(field: pa.Field) -> bool:
    """Say whether a column of a file has times of 96 bits."""
    return _MARK in (field.metadata or {})


def _marked(field: pa.Field, leaves: Iterator[Any]) -> pa.Field:
    children = child_fields(field.type)
    if children:
        marked = [_marked(child, leaves) for child in children]
        return field.with_type(with_child_fields(field.type, marked))
    if next(leaves).physical_type != "INT96":
        return field
    return field.with_metadata({**(field.metadata or {}), _MARK: b""})
