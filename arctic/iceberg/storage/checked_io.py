"""The FileIO of every catalog that Arctic opens: metadata gets checksums, and they are verified.

PyIceberg makes its FileIO in many places, and always by the property ``py-io-impl``; so this class
reaches all that it reads and writes: table metadata, manifest lists, manifests, Puffin files. How
files are reached is up to the FileIO that the scheme, or the user's own property, stands for.

Rules:
    - Only metadata is touched; data files pass through.
    - Table metadata is parsed here, so that damage is reported with the name of the file, and once.
      Other files of metadata are read whole, those far away once: see ``kept_metadata``.

Memory: one metadata file, and what ``kept_metadata`` holds.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream
from pyiceberg.serializers import Compressor, FromByteStream, FromInputFile
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import EMPTY_DICT, UTF8
from pyiceberg.typedef import Properties as CatalogProperties

from arctic.errors import FormatError
from arctic.iceberg.storage.checksum import check, sealed
from arctic.iceberg.storage.file_io import ArrowIO, cached_file_io, scheme_of
from arctic.iceberg.storage.io_properties import (
    known_by,
    opened_by,
    with_checks,
    without_checks,
)
from arctic.iceberg.storage.kept_metadata import KEPT, KEPT_FILES, Properties, is_kept

_METADATA = ".metadata.json"
_SEALED = (_METADATA, ".avro", ".puffin")
_CHECKED = (_METADATA, ".puffin")
"""Manifests and manifest lists are checked where they are decoded, see ``avro_blocks``."""
_PYICEBERGS = FromInputFile.table_metadata


def check_metadata_of(catalog: Catalog) -> None:
    """Have a catalog read and write metadata with checksums."""
    catalog.properties.update({**with_checks(catalog.properties), **opened_by(catalog.properties)})
    # The way that all catalogs of PyIceberg take which read metadata files themselves.
    FromInputFile.table_metadata = staticmethod(_table_metadata)  # type: ignore[method-assign]


def keep_written(location: str, metadata: TableMetadata, catalog: Catalog) -> None:
    """Remember the metadata of a commit through a catalog that has just succeeded."""
    known = known_by(without_checks(catalog.properties))
    KEPT.put(location, known, metadata, KEPT.stamp(location))


class CheckedFileIO(ArrowIO):
    """Reads and writes through another FileIO; who asks for file systems gets those of PyArrow."""

    def __init__(self, properties: CatalogProperties = EMPTY_DICT) -> None:
        super().__init__(properties)
        plain = without_checks(properties)
        self._plain, self._known = tuple(sorted(plain.items())), known_by(plain)

    def new_input(self, location: str) -> Any:
        """Return a file to read."""
        plain = self._inner(location).new_input(location)
        return _MetadataInput(plain, self._known) if location.endswith(_SEALED) else plain

    def new_output(self, location: str) -> Any:
        """Return a file to write."""
        plain = self._inner(location).new_output(location)
        return _SealedOutput(plain, self._known) if location.endswith(_SEALED) else plain

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file."""
        path = location if isinstance(location, str) else location.location
        self._inner(path).delete(path)

    def _inner(self, location: str) -> FileIO:
        return cached_file_io(self._plain, scheme_of(location))


class _Wrapped:
    """What a file to read and one to write have in common: another one does the work."""

    def __init__(self, plain: Any, properties: Properties) -> None:
        super().__init__(plain.location)  # type: ignore[call-arg]
        self._plain = plain
        self._properties = properties

    def __len__(self) -> int:
        return len(self._plain)

    def exists(self) -> bool:
        return bool(self._plain.exists())


class _MetadataInput(_Wrapped, InputFile):
    def open(self, seekable: bool = True) -> InputStream:
        may_be_here = is_kept(self.location)
        content = KEPT_FILES.get(self.location, self._properties) if may_be_here else None
        if content is None:
            with self._plain.open(seekable) as stream:
                content = bytes(stream.read())
            if may_be_here:
                check(self.location, content)  # what came damaged once may come whole the next time
                KEPT_FILES.put(self.location, self._properties, content)
        if self.location.endswith(_CHECKED):
            check(self.location, content)
        return io.BytesIO(content)

    def table_metadata(self) -> TableMetadata:
        """Return the metadata in the file; what this process knows already is not parsed again."""
        metadata = KEPT.get(self.location, self._properties)
        if metadata is None:
            stamp = KEPT.stamp(self.location)
            with self.open() as stream:
                metadata = _parsed(self.location, stream)
            KEPT.put(self.location, self._properties, metadata, stamp)
        return metadata


class _SealedOutput(_Wrapped, OutputFile):
    def __init__(self, plain: Any, properties: Properties) -> None:
        super().__init__(plain, properties)
        self._length: int | None = None

    def __len__(self) -> int:
        """Return the length of what was written, without a look at the store."""
        return super().__len__() if self._length is None else self._length

    def to_input_file(self) -> InputFile:
        return _MetadataInput(self._plain.to_input_file(), self._properties)

    def create(self, overwrite: bool = False) -> OutputStream:
        return _SealedStream(self.location, self._plain.create(overwrite), self._written)

    def _written(self, parts: Sequence[bytes]) -> None:
        self._length = sum(map(len, parts))
        if is_kept(self.location):
            KEPT_FILES.put(self.location, self._properties, b"".join(parts))


class _SealedStream:
    """Keeps what is written, because a checksum stands before what it covers."""

    def __init__(
        self, location: str, plain: OutputStream, written: Callable[[Sequence[bytes]], None]
    ) -> None:
        self._location = location
        self._plain = plain
        self._written = written
        self._parts: list[bytes] = []
        self._length = 0
        self._is_open = True

    def write(self, b: bytes) -> int:
        self._parts.append(bytes(b))
        self._length += len(b)
        return len(b)

    def tell(self) -> int:
        return self._length

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            parts = sealed(self._location, self._parts)
            try:
                for part in parts:
                    self._plain.write(part)
            finally:
                self._plain.close()
            self._written(parts)

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


def _table_metadata(input_file: InputFile, encoding: str = UTF8) -> TableMetadata:
    """Take the place of PyIceberg's reader of metadata files, for files of ours."""
    if isinstance(input_file, _MetadataInput) and encoding == UTF8:
        return input_file.table_metadata()
    return _PYICEBERGS(input_file, encoding)


def _parsed(path: str, stream: InputStream) -> TableMetadata:
    try:
        compression = Compressor.get_compressor(path)
        return FromByteStream.table_metadata(stream, compression=compression)
    except Exception as error:  # anything, on bytes that are no metadata
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(
            f"table metadata {path!r}: it cannot be parsed: {reason}; restore it from a copy"
        ) from error
