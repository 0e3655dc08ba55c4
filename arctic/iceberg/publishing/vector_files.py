"""Deletion vectors of format version 3: which rows of a data file are dead, as a bitmap in Puffin.

Layout: a blob ``deletion-vector-v1`` is the length of what follows but for the checksum (4 bytes,
big endian), a magic number, the count of bitmaps (8 bytes, little endian), for each its upper 32
bits and a Roaring bitmap of the lower ones, and the CRC-32 of all that after the length (big
endian).

Rules:
    - One Puffin file holds one vector, and its entry has the path of the data file as both bounds:
      PyIceberg 0.12 applies every vector of a file that it opens, wherever the entry points, and
      tells by the bounds which data file is meant.

Memory: 32 bitmaps, and the numbers of the dead rows of one file.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Iterator
from concurrent.futures import Future
from uuid import uuid4

import numpy as np
import numpy.typing as npt
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.typedef import Record
from pyroaring import BitMap

from arctic.columns.integers.distinct import distinct
from arctic.errors import FormatError
from arctic.iceberg.metadata.version_three import BlobPlace, with_fields
from arctic.iceberg.storage.far_threads import far_threads
from arctic.iceberg.storage.puffin import puffin_file
from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.translate import catalog_errors
from arctic.table.files import TableFile
from arctic.table.row_positions import DELETED_PATH_ID, DELETED_POSITION_ID

Rows = npt.NDArray[np.int64]
VectorFile = DataFile

_BLOB_TYPE = "deletion-vector-v1"
_MAGIC = bytes.fromhex("d1d33964")
_OFFSET = 4
"""Of the only blob in its file, behind the magic number of Puffin."""
_NO_SNAPSHOT = -1
"""A vector is made before the snapshot that it is for."""
_MOST_AT_ONCE = 32


def write_vectors(published: Table, dead: Iterator[tuple[TableFile, Rows]]) -> tuple[DataFile, ...]:
    """Write deletion vectors that nobody refers to yet, and return their entries.

    Args:
        published: the table that they are for, of format version 3.
        dead: data files, each with the numbers of its dead rows, ascending.

    Raises:
        StorageError: a file could not be created or written; none is left.
    """
    made: list[DataFile] = []
    pending: list[Future[None]] = []
    name = ".".join(published.name())
    try:
        with catalog_errors(f"write the deletion vectors of table {name!r}"):
            for file, rows in dead:
                path = f"{published.location().rstrip('/')}/data/{uuid4()}-vector.puffin"
                blob = vector_blob(rows)
                content = puffin_file(
                    {_BLOB_TYPE: blob},
                    snapshot_id=_NO_SNAPSHOT,
                    sequence_number=_NO_SNAPSHOT,
                    fields=(DELETED_POSITION_ID,),
                    properties={
                        "referenced-data-file": file.path,
                        "cardinality": str(len(rows)),
                    },
                ).content
                made.append(_entry(published, file, path, rows, len(blob), len(content)))
                pending.append(far_threads().submit(_write, published, path, content))
                if len(pending) == _MOST_AT_ONCE:
                    pending.pop(0).result()
            for each in pending:
                each.result()
    except BaseException:
        for each in pending:
            each.exception()
        TableIO.of(published).delete_quietly([file.file_path for file in made])
        raise
    return tuple(made)


def vector_rows(io: TableIO, path: str, place: BlobPlace) -> Rows:
    """Return the numbers of the rows that a vector says are dead, ascending.

    Raises:
        FormatError: bytes that are no vector, naming the file.
        StorageError: the file is missing or cannot be read.
    """
    with io.open_input(path) as file:
        content = file.read()
    try:
        return blob_rows(content[place.offset : place.offset + place.length])
    except (ValueError, struct.error) as error:
        raise FormatError(
            f"deletion vector in {path!r}, from byte {place.offset} on: {error}; publish into "
            "another name"
        ) from error


def vector_blob(rows: Rows) -> bytes:
    """Return the blob of rows whose numbers ascend.

    >>> blob_rows(vector_blob(np.array([0, 7, 2**32 + 1])))
    array([         0,          7, 4294967297])
    """
    upper = rows >> 32
    keys = distinct(upper)
    parts = [_MAGIC, struct.pack("<q", len(keys))]
    for key in keys:
        lower = (rows[upper == key] & 0xFFFFFFFF).astype(np.uint32)
        bitmap = BitMap(array("I", lower.tobytes()))
        bitmap.run_optimize()
        parts += [struct.pack("<i", key), bitmap.serialize()]
    body = b"".join(parts)
    return struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def blob_rows(blob: bytes) -> Rows:
    """Return the numbers of the rows in a blob.

    Raises:
        ValueError: it is no blob, or damaged.
    """
    (length,) = struct.unpack(">i", blob[:4])
    body = blob[4 : 4 + length]
    if len(blob) != length + 8 or not body.startswith(_MAGIC):
        raise ValueError("it does not begin and end as one")
    if blob[4 + length :] != struct.pack(">I", zlib.crc32(body)):
        raise ValueError("its checksum is another one")
    (count,) = struct.unpack_from("<q", body, len(_MAGIC))
    found, rest = [np.zeros(0, np.int64)], body[len(_MAGIC) + 8 :]
    for _ in range(count):
        (key,) = struct.unpack_from("<i", rest)
        bitmap = BitMap.deserialize(rest[4:])
        found.append(np.asarray(bitmap.to_array(), np.int64) + (key << 32))
        rest = rest[4 + len(bitmap.serialize()) :]
    return np.concatenate(found)


def _entry(
    published: Table, file: TableFile, path: str, rows: Rows, blob_bytes: int, file_bytes: int
) -> DataFile:
    bound = {DELETED_PATH_ID: file.path.encode()}
    entry = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=path,
        file_format=FileFormat.PUFFIN,
        partition=Record(*file.partition),
        record_count=len(rows),
        file_size_in_bytes=file_bytes,
        lower_bounds=bound,
        upper_bounds=bound,
    )
    entry.spec_id = published.spec().spec_id
    return with_fields(
        entry,
        referenced_data_file=file.path,
        content_offset=_OFFSET,
        content_size_in_bytes=blob_bytes,
    )


def _write(published: Table, path: str, content: bytes) -> None:
    with published.io.new_output(path).create() as stream:
        stream.write(content)
