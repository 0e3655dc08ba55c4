"""This package as one file, for workers of a cluster that have all but it.

Spark hands such a file to each worker (``addPyFile``, ``--py-files``). What Arctic is built on has
compiled parts and cannot go that way: it must be there, or come as a whole environment.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from importlib.resources import files
from pathlib import Path

from arctic.errors import StorageError

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
                        _add(zipped, Path(str(files(package))))
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


def _add(zipped: zipfile.ZipFile, package: Path) -> None:
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package.parent)
        if path.is_file() and "__pycache__" not in name.parts:
            zipped.writestr(zipfile.ZipInfo(name.as_posix(), _MADE_AT), path.read_bytes())
