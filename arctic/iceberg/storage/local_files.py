"""Files of this machine, opened without PyIceberg, whose import costs a worker half a second.

Rules:
    - A path means the file that it means to PyIceberg; one that might not is none of ours.
    - Local files are opened plainly: memory-mapping them was measured to be no faster.
"""

from __future__ import annotations

import os
import re
from typing import Any

from pyarrow.fs import FileType, LocalFileSystem

_URI = re.compile(r"file:(?://)?(/(?!/)[^#?;\t\r\n]*)")
"""Spellings of an absolute path that no parser of URIs takes apart."""

_BUFFER_BYTES = 2**16
"""One of 1 MiB took 1 to 4 ms a file: the system is asked for such memory anew every time."""

_FILES = LocalFileSystem()


def local_path(location: str) -> str | None:
    """Return the path of a location on this machine; None where another module must look.

    >>> local_path("/lake/a b"), local_path("file:/lake/x"), local_path("file:///lake/%41")
    ('/lake/a b', '/lake/x', '/lake/%41')
    >>> local_path("file:///lake/x#1"), local_path("s3://lake/x"), local_path("lake/x")
    (None, None, None)
    """
    if location.startswith("/"):
        return os.path.abspath(location)
    uri = _URI.fullmatch(location)
    return uri.group(1) if uri else None


def open_file(path: str) -> Any:
    """Open a file for reading at any position.

    Raises:
        OSError: it is missing or cannot be read.
    """
    return _FILES.open_input_file(path)


def create_file(path: str) -> Any:
    """Create a file, with its folders; close the stream to complete it.

    Raises:
        OSError: it exists already, or cannot be written.
    """
    if _FILES.get_file_info(path).type != FileType.NotFound:
        raise FileExistsError(f"Cannot create file, already exists: {path}")
    _FILES.create_dir(os.path.dirname(path), recursive=True)
    return _FILES.open_output_stream(path, buffer_size=_BUFFER_BYTES)


def is_local(location: str) -> bool:
    """Say whether a location is on a file system that every engine of this machine sees alike.

    >>> is_local("/lake/t"), is_local("file:///lake/t"), is_local("s3://lake/t")
    (True, True, False)
    """
    return location.startswith(("/", "file:"))
