"""PyIceberg's access to files, by the scheme of a location."""

from __future__ import annotations

from functools import lru_cache

from pyarrow.fs import FileSystem, PyFileSystem
from pyiceberg.io import PY_IO_IMPL, SCHEMA_TO_FILE_IO, FileIO, load_file_io
from pyiceberg.io.fsspec import FsspecFileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

from arctic.errors import UnsupportedError
from arctic.iceberg.storage.object_io import FsspecFiles, with_fewer_requests


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
