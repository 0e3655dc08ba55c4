"""How files are written."""

from __future__ import annotations

from arctic.options.option import Option, Scope
from arctic.options.option_values import byte_count, integer, one_of, optional, positive_int, truth

_WRITE_TABLE = frozenset({Scope.WRITE, Scope.TABLE})

TARGET_FILE_SIZE = Option(
    name="write.target-file-size-bytes",
    parse=byte_count,
    default=128 * 2**20,
    scopes=_WRITE_TABLE,
    doc="A file is closed and a next one begun when it has grown to this size.",
)
COMPRESSION = Option(
    name="write.parquet.compression-codec",
    parse=one_of("zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"),
    default="zstd",
    scopes=_WRITE_TABLE,
    doc="Parquet compression.",
)
COMPRESSION_LEVEL = Option(
    name="write.parquet.compression-level",
    parse=optional(integer),
    default=None,
    scopes=_WRITE_TABLE,
    doc="Level of the codec; its own default (1 for zstd) if not set.",
)
DICTIONARY_BYTES = Option(
    name="write.parquet.dict-size-bytes",
    parse=byte_count,
    default=2**20,
    scopes=_WRITE_TABLE,
    doc="A column that would need a larger dictionary in a row group is written without one.",
)
DELTA_ENCODING = Option(
    name="write.parquet.delta-encoding",
    parse=truth,
    default=False,
    scopes=_WRITE_TABLE,
    doc="Write integers and times that do not repeat as differences: smaller and faster, but "
    "Iceberg before 1.10 cannot read them vectorised.",
)
ROW_GROUP_BYTES = Option(
    name="write.parquet.row-group-size-bytes",
    parse=byte_count,
    default=8 * 2**20,
    scopes=_WRITE_TABLE,
    doc="Arrow bytes that are gathered for one file before a row group is written.",
)
ROW_GROUP_ROWS = Option(
    name="write.parquet.row-group-limit",
    parse=positive_int,
    default=1_000_000,
    scopes=_WRITE_TABLE,
    doc="The most rows of a row group, however few bytes they have.",
)
WRITE_BUFFER_BYTES = Option(
    name="write.buffer-bytes",
    parse=byte_count,
    default=256 * 2**20,
    scopes=_WRITE_TABLE,
    doc="Arrow bytes that one write task gathers over all its files before it writes the largest.",
)
