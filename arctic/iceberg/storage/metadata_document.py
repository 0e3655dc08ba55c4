"""A metadata file as plain JSON: whose it is, without the cost of parsing all of it."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from typing import Any

from arctic.errors import StorageError
from arctic.iceberg.storage.table_io import TableIO

METADATA_FILE = ".metadata.json"
"""How the name of a table's metadata file ends, compressed or not."""

_GZIP = b"\x1f\x8b"


def metadata_document(io: TableIO, path: str) -> Mapping[str, Any] | None:
    """Return what a metadata file says; None where there is none that anybody could read.

    Raises:
        StorageError: the file is there, but cannot be read.
        UnsupportedError: no file system is installed for the path's scheme.
    """
    try:
        with io.open_input(path) as file:
            data = file.read()
    except StorageError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise
    try:
        document = json.loads(gzip.decompress(data) if data.startswith(_GZIP) else data)
    except (ValueError, EOFError, OSError, RecursionError, zlib.error):
        return None
    return document if isinstance(document, dict) else None
