"""PyIceberg's access to files, by the scheme of a location, in fewer requests where each is slow.

Before PyIceberg creates a file it asks whether there is one, and Arrow begins an upload in parts
before it knows whether the file is small. To an object store those are five requests for a file, a
listing among them; here it is one. A small file that is read comes whole: its footer and its
columns would be a request each.

Rules:
    - Only a file whose name holds a random number is created without a look: it is nobody else's.
      No store is asked to refuse what is there: not all can, and a request that is sent again after
      its answer was lost would be refused because of itself.
    - Files of this machine are opened and created as ever.
    - Arrow reaches Hadoop through a library that no package brings. Where ``hdfs-native`` is
      installed, which needs neither that nor Java, it is what opens ``hdfs://``.
    - When a file was changed, each client of fsspec says under another name, of which Arrow knows
      one. A file of unknown age would never be cleaned away.
"""

from __future__ import annotations

import errno
import io
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa
from pyarrow.fs import (
    FileInfo,
    FileSystem,
    FSSpecHandler,
    LocalFileSystem,
    PyFileSystem,
    S3FileSystem,
)
from pyiceberg.io import (
    HDFS_HOST,
    HDFS_PORT,
    PY_IO_IMPL,
    S3_RETRY_STRATEGY_IMPL,
    SCHEMA_TO_FILE_IO,
    FileIO,
    InputFile,
    InputStream,
    OutputFile,
    OutputStream,
    load_file_io,
)
from pyiceberg.io.fsspec import FsspecFileIO, FsspecInputFile, FsspecOutputFile
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.typedef import EMPTY_DICT, Properties

from arctic.errors import UnsupportedError
from arctic.table.filename import has_random_name

try:
    from hdfs_native import fsspec as hadoop
except ImportError:  # the extra hdfs
    hadoop = None  # type: ignore[assignment]

WHOLE_BYTES = 2**20
"""A file of fewer comes about as fast as a part of it, from where a request takes 50 ms."""


def with_fewer_requests(file_io: FileIO) -> FileIO:
    """Return the same access; one that is not PyIceberg's own as it is."""
    if type(file_io) is PyArrowFileIO:
        return ArrowIO(file_io.properties)
    if type(file_io) is FsspecFileIO:
        return _FsspecIO(file_io.properties)
    return file_io


class ArrowIO(PyArrowFileIO):
    """Files and file systems of Arrow."""

    def __init__(self, properties: Properties = EMPTY_DICT) -> None:
        super().__init__(properties)
        self.fs_by_scheme = lru_cache(partial(_made, self.fs_by_scheme, properties))

    def new_input(self, location: str) -> PyArrowFile:
        """Return a file to read."""
        return _far(super().new_input(location))

    def new_output(self, location: str) -> PyArrowFile:
        """Return a file to write."""
        return _far(super().new_output(location))


def _made(
    make: Callable[..., FileSystem], properties: Properties, scheme: str, host: str | None
) -> FileSystem:
    if scheme in ("hdfs", "viewfs") and hadoop is not None:
        return _hadoop(scheme, host or "", properties)
    made = make(scheme, host)
    # Arrow does not tell which strategy of trying again a file system has.
    return made if S3_RETRY_STRATEGY_IMPL in properties else _late(made)


def _hadoop(scheme: str, place: str, properties: Mapping[str, str]) -> FileSystem:
    """Return a file system of Hadoop; of no host: the one that Hadoop's configuration names."""
    host, _, port = place.partition(":")
    if not host:
        host, port = properties.get(HDFS_HOST, ""), str(properties.get(HDFS_PORT, ""))
    kind = hadoop.HdfsFileSystem if scheme == "hdfs" else hadoop.ViewfsFileSystem
    return PyFileSystem(FsspecFiles(kind(host or None, int(port) if port else None)))


class FsspecFiles(FSSpecHandler):  # type: ignore[misc]  # Arrow has no types
    """What a client of fsspec reaches, for Arrow."""

    @staticmethod
    def _create_file_info(path: str, info: Mapping[str, Any]) -> FileInfo:
        return FSSpecHandler._create_file_info(path, {**info, "mtime": _modified(info)})


def _modified(info: Mapping[str, Any]) -> float | None:
    """Return seconds since 1970; None where a client does not say.

    >>> _modified({"modification_time": 1500}), _modified({"LastModified": ""})
    (1.5, None)
    """
    milliseconds = info.get("modification_time")  # hdfs-native
    if milliseconds is not None:
        return float(milliseconds) / 1000
    told = info.get("mtime", info.get("LastModified"))  # s3fs
    if isinstance(told, datetime):
        return told.timestamp()
    return float(told) if isinstance(told, int | float) else None


def _late(file_system: FileSystem) -> FileSystem:
    """Return a file system that begins to upload a file once it knows how large it is."""
    if not isinstance(file_system, S3FileSystem):
        return file_system
    make, (options,) = file_system.__reduce__()
    # Arrow before 21 begins every upload in parts.
    known = "allow_delayed_open" in options
    return make({**options, "allow_delayed_open": True}) if known else file_system


def _far(file: PyArrowFile) -> PyArrowFile:
    if isinstance(file._filesystem, LocalFileSystem):
        return file
    return _FarFile(file.location, file._path, file._filesystem, file._buffer_size)


class _FarFile(PyArrowFile):
    def open(self, seekable: bool = True) -> InputStream:
        opened: Any = super().open(seekable)
        if not seekable or opened.size() >= WHOLE_BYTES:
            return opened  # type: ignore[no-any-return]
        with opened:
            return pa.BufferReader(opened.read_buffer())  # type: ignore[no-any-return]

    def create(self, overwrite: bool = False) -> OutputStream:
        return super().create(overwrite or has_random_name(self.location))


class _FsspecIO(FsspecFileIO):
    def new_input(self, location: str) -> FsspecInputFile:
        plain = super().new_input(location)
        return _FarInput(location, plain._fs) if _is_s3(plain._fs) else plain

    def new_output(self, location: str) -> FsspecOutputFile:
        plain = super().new_output(location)
        return _FarOutput(location, plain._fs) if _is_s3(plain._fs) else plain

    def delete(self, location: str | InputFile | OutputFile) -> None:
        path = location if isinstance(location, str) else location.location
        # What PyIceberg calls may delete folders too, and lists the path to know.
        file_system: Any = super().new_output(path)._fs
        file_system.rm_file(path)


def _is_s3(file_system: Any) -> bool:
    return "s3" in file_system.protocol


class _FarInput(FsspecInputFile):
    def open(self, seekable: bool = True) -> InputStream:
        try:
            content = self._fs.cat_file(self.location, start=0, end=WHOLE_BYTES)
        except OSError as error:
            if error.errno != errno.EINVAL:  # what S3 says of any part of an empty file
                raise
            content = b""
        return io.BytesIO(content) if len(content) < WHOLE_BYTES else super().open(seekable)


class _FarOutput(FsspecOutputFile):
    def create(self, overwrite: bool = False) -> OutputStream:
        return super().create(overwrite or has_random_name(self.location))


@lru_cache(maxsize=64)
def cached_file_io(properties: tuple[tuple[str, str], ...], scheme: str) -> FileIO:
    """Return the access for a scheme, one for each set of properties.

    Raises:
        UnsupportedError: no file system is installed for the scheme.
    """
    if scheme not in SCHEMA_TO_FILE_IO and PY_IO_IMPL not in dict(properties):
        raise UnsupportedError(
            f"files under '{scheme}://': expected one of {', '.join(SCHEMA_TO_FILE_IO)}, or the "
            f"catalog property {PY_IO_IMPL}"
        )
    try:
        return with_fewer_requests(load_file_io(dict(properties), location=f"{scheme}://"))
    except (ImportError, ValueError, AttributeError) as error:
        raise UnsupportedError(f"files under '{scheme}://': {error}") from error


def scheme_of(location: str) -> str:
    """Return the scheme of a location; of a path without one, ``file``.

    >>> scheme_of("s3://lake/x"), scheme_of("/lake/x")
    ('s3', 'file')
    """
    scheme, separator, _ = location.partition(":")
    return scheme if separator and not location.startswith("/") else "file"


def file_system(file_io: FileIO, location: str) -> tuple[FileSystem, str]:
    """Return what lists and deletes folders, and the path of a location in it.

    Raises:
        UnsupportedError: this access cannot list files.
    """
    scheme, host, path = PyArrowFileIO.parse_location(location, file_io.properties)
    if isinstance(file_io, PyArrowFileIO):
        return file_io.fs_by_scheme(scheme, host), path
    if isinstance(file_io, FsspecFileIO):
        found = file_io.get_fs(scheme)
        found.invalidate_cache()  # It remembers what it has listed, whatever others do.
        return PyFileSystem(FsspecFiles(found)), path
    raise UnsupportedError(
        f"location {location!r}: {type(file_io).__name__} cannot list files; look there by hand"
    )
