"""This package as one file, for workers of a cluster on which it is not installed.

Spark hands such a file to each worker (``addPyFile``, ``--py-files``). What Arctic is built on has
compiled parts and cannot go that way: it must be there, or come as a whole environment.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from arctic.errors import StorageError

if TYPE_CHECKING:
    from importlib.abc import Traversable  # elsewhere from Python 3.14 on

_PACKAGES = ("arctic", "pyspark_arctic")
_MADE_AT = (1980, 1, 1, 0, 0, 0)
"""The same bytes for the same package, whenever they are made."""


def write_package_zip(path: Path) -> None:
    """Write the package's modules to a zip, which is put in its place whole.

    Raises:
        StorageError: it cannot be written there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
            try:
                with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
                    for package in _PACKAGES:
                        _add(zipped, files(package), package)
                os.chmod(file.name, 0o644)  # who runs executors may be somebody else
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise StorageError(
            f"cannot write {str(path)!r}: {error.strerror or error}; name a file in a folder that "
            "can be written"
        ) from error


def _add(zipped: zipfile.ZipFile, folder: Traversable, name: str) -> None:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        inside = f"{name}/{each.name}"
        if each.is_file():
            zipped.writestr(zipfile.ZipInfo(inside, _MADE_AT), each.read_bytes())
        elif each.name != "__pycache__":
            _add(zipped, each, inside)
