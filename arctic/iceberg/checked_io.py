"""The FileIO of every catalog that Arctic opens: metadata gets checksums, and they are verified.

PyIceberg makes its FileIO in many places, and always by the property ``py-io-impl``; so this class
reaches all that it reads and writes: table metadata, manifest lists, manifests, Puffin files. How
files are reached is up to the FileIO that the scheme, or the user's own property, stands for.

Rules:
    - Only metadata is touched; data files pass through.
    - Table metadata without a checksum is parsed once before PyIceberg sees it, so that damage is
      reported with the name of the file.

Memory: one metadata file.
"""

from __future__ import annotations

import gzip
import io
from types import TracebackType
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.typedef import EMPTY_DICT, Properties

from arctic.errors import FormatError
from arctic.iceberg.checksum import check, sealed
from arctic.iceberg.file_io import cached_file_io, scheme_of
from arctic.iceberg.io_properties import with_checks, without_checks

_METADATA = ".metadata.json"
_SEALED = (_METADATA, ".avro", ".puffin")
_CHECKED = (_METADATA, ".puffin")
"""Manifests and manifest lists are checked where they are decoded, see ``avro_blocks``."""


def check_metadata_of(catalog: Catalog) -> None:
    """Have a catalog read and write metadata with checksums."""
    catalog.properties.update(with_checks(catalog.properties))


class CheckedFileIO(PyArrowFileIO):
    """Reads and writes as another FileIO does; a PyArrow one to who asks for its file systems."""

    def __init__(self, properties: Properties = EMPTY_DICT) -> None:
        super().__init__(properties)
        self._plain = tuple(sorted(without_checks(properties).items()))

    def new_input(self, location: str) -> Any:
        """Return a file to read."""
        plain = self._inner(location).new_input(location)
        return _CheckedInput(plain) if location.endswith(_CHECKED) else plain

    def new_output(self, location: str) -> Any:
        """Return a file to write."""
        plain = self._inner(location).new_output(location)
        return _SealedOutput(plain) if location.endswith(_SEALED) else plain

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file."""
        path = location if isinstance(location, str) else location.location
        self._inner(path).delete(path)

    def _inner(self, location: str) -> FileIO:
        return cached_file_io(self._plain, scheme_of(location))


class _CheckedInput(InputFile):
    def __init__(self, plain: InputFile) -> None:
        super().__init__(plain.location)
        self._plain = plain

    def __len__(self) -> int:
        return len(self._plain)

    def exists(self) -> bool:
        return self._plain.exists()

    def open(self, seekable: bool = True) -> InputStream:
        with self._plain.open(seekable) as stream:
            content = bytes(stream.read())
        is_whole = check(self.location, content)
        if not is_whole and self.location.endswith(_METADATA):
            _check_metadata(self.location, content)
        return io.BytesIO(content)


class _SealedOutput(OutputFile):
    def __init__(self, plain: OutputFile) -> None:
        super().__init__(plain.location)
        self._plain = plain

    def __len__(self) -> int:
        return len(self._plain)

    def exists(self) -> bool:
        return self._plain.exists()

    def to_input_file(self) -> InputFile:
        plain = self._plain.to_input_file()
        return _CheckedInput(plain) if self.location.endswith(_CHECKED) else plain

    def create(self, overwrite: bool = False) -> OutputStream:
        return _SealedStream(self.location, self._plain.create(overwrite))


class _SealedStream:
    """Keeps what is written, because a checksum stands before what it covers."""

    def __init__(self, location: str, plain: OutputStream) -> None:
        self._location = location
        self._plain = plain
        self._content = bytearray()
        self._is_open = True

    def write(self, b: bytes) -> int:
        self._content += b
        return len(b)

    def tell(self) -> int:
        return len(self._content)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            try:
                self._plain.write(sealed(self._location, bytes(self._content)))
            finally:
                self._plain.close()

    def __enter__(self) -> _SealedStream:
        return self

    def __exit__(
        self,
        exctype: type[BaseException] | None,
        exctb: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if exctype is not None and self._is_open:
            self._is_open = False
            self._plain.close()
        self.close()


def _check_metadata(path: str, content: bytes) -> None:
    try:
        plain = gzip.decompress(content) if path.endswith(".gz" + _METADATA) else content
        TableMetadataUtil.parse_raw(plain.decode())
    except Exception as error:  # anything, on bytes that are no metadata
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(
            f"table metadata {path!r}: it cannot be parsed: {reason}; restore it from a copy"
        ) from error
