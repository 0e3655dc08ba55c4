"""One manifest's bytes as live files.

Strategy: PyIceberg resolves the manifest's schema into a tree of readers. That tree is flattened
once for each schema into a row of steps. For each Avro block the steps are bound to its decoder;
an entry then costs one call for each field, and metrics that planning does not ask for are passed
over without making a dict.

A library was tried in its place: ``pyiceberg_core.manifest.read_manifest_entries`` finds the same
entries, but drops the bounds of reserved field ids, by which a position delete names its data file,
and panics on a manifest that was cut short.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.avro.reader import (
    BinaryReader,
    IntegerReader,
    MapReader,
    OptionReader,
    Reader,
    StringReader,
    StructReader,
)
from pyiceberg.avro.resolver import resolve_reader
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    MANIFEST_ENTRY_SCHEMAS,
    DataFileContent,
    FileFormat,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from arctic.iceberg.metadata.manifest_files import check_counts
from arctic.iceberg.storage.avro_blocks import AvroContent, decoding
from arctic.table.files import Partition

_Step = Callable[[BinaryDecoder], Callable[[], Any]]
"""Given a block's decoder, returns what reads the next value of one field."""


class ListedFile(NamedTuple):
    """What planning asks a manifest entry for."""

    path: str
    content: DataFileContent
    file_format: FileFormat
    partition: Partition
    record_count: int
    size_bytes: int
    null_counts: Sequence[int] | None
    """A field id, its count, the next field id, and so on; None: not written."""
    lower_bounds: Mapping[int, bytes] | None
    """By field id, in Iceberg's single-value encoding; None: not written."""
    upper_bounds: Mapping[int, bytes] | None
    sequence_number: int | None
    """Iceberg's data sequence number, inherited where the entry leaves it to its manifest."""


_STATUS_ID, _SEQUENCE_ID, _DATA_FILE_ID = 0, 3, 2
_WANTED_IDS = (_STATUS_ID, _SEQUENCE_ID, 134, 101, 100, 102, 103, 104, 110, 125, 128)
"""The fields of an entry and of its data file, in the order in which ``_live`` takes them."""

_READ_SCHEMA = MANIFEST_ENTRY_SCHEMAS[DEFAULT_READ_VERSION]
_SCHEMAS = 64

# Names that no enumeration knows raise ValueError, as they do in PyIceberg.
_status = lru_cache(maxsize=None)(ManifestEntryStatus)
_content = lru_cache(maxsize=None)(DataFileContent)
_format = lru_cache(maxsize=None)(FileFormat)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """How entries of one schema are read."""

    steps: tuple[_Step, ...]
    """In file order; fields that the file lacks come last and give their defaults."""
    pick: Callable[[list[Any]], tuple[Any, ...]]
    """Takes the values of ``_WANTED_IDS`` out of what the steps read."""


def decode_manifest(content: bytes, manifest: ManifestFile) -> tuple[ListedFile, ...]:
    """Return the files of a manifest that are not deleted, sequence numbers inherited.

    Args:
        content: the whole Avro file.
        manifest: what the manifest list says of it.

    Raises:
        FormatError: bytes that break the format or are another manifest's, naming the manifest.
    """
    with decoding(f"manifest {manifest.manifest_path!r}"):
        files = tuple(chain.from_iterable(_blocks(content, manifest)))
    check_counts(manifest, [file.record_count for file in files])
    return files


def _blocks(content: bytes, manifest: ManifestFile) -> Iterator[list[ListedFile]]:
    avro = AvroContent(manifest.manifest_path, content)
    layout = _layout(avro.meta["avro.schema"])
    for block in avro.blocks():
        yield _live(layout, block.decoder, block.entries, manifest)
        block.check_end()


def _live(
    layout: _Layout, decoder: BinaryDecoder, count: int, manifest: ManifestFile
) -> list[ListedFile]:
    """Read the entries of a block; those that are deleted are left out."""
    found = []
    reads = [step(decoder) for step in layout.steps]
    pick = layout.pick
    inherited = manifest.sequence_number
    for _ in range(count):
        (
            status,
            sequence_number,
            content,
            file_format,
            path,
            partition,
            record_count,
            size_bytes,
            null_counts,
            lower_bounds,
            upper_bounds,
        ) = pick([read() for read in reads])
        state = _status(status)
        if state is ManifestEntryStatus.DELETED:
            continue
        # Entries of format version 1 have no sequence number, nor has their manifest.
        if sequence_number is None and (inherited == 0 or state is ManifestEntryStatus.ADDED):
            sequence_number = inherited
        found.append(
            ListedFile(
                path,
                _content(content),
                _format(file_format),
                partition,
                record_count,
                size_bytes,
                null_counts,
                lower_bounds,
                upper_bounds,
                sequence_number,
            )
        )
    return found


@lru_cache(maxsize=_SCHEMAS)
def _layout(avro_schema: str) -> _Layout:
    """Return the steps of a manifest's schema; the manifests of a table share a few."""
    schema = AvroSchemaConversion().avro_to_iceberg(json.loads(avro_schema))
    steps: list[_Step] = []
    places: dict[int, int] = {}

    def flatten(reader: Any, expected: Any) -> None:
        for position, field_reader in reader.field_readers:
            field_id = None if position is None else expected.fields[position].field_id
            if field_id == _DATA_FILE_ID:
                flatten(field_reader, _READ_SCHEMA.find_field(_DATA_FILE_ID).field_type)
                continue
            is_wanted = field_id in _WANTED_IDS
            if field_id is not None and is_wanted:
                places[field_id] = len(steps)
            steps.append(_step(field_reader, is_wanted=is_wanted))

    flatten(resolve_reader(schema, _READ_SCHEMA), _READ_SCHEMA.as_struct())
    return _Layout(
        steps=tuple(steps), pick=itemgetter(*(places[field_id] for field_id in _WANTED_IDS))
    )


def _step(reader: Reader, *, is_wanted: bool) -> _Step:
    """Return the fastest way to read a field; any reader that is not known here reads itself."""
    if isinstance(reader, IntegerReader):
        return lambda decoder: decoder.read_int
    if isinstance(reader, StringReader):
        return lambda decoder: decoder.read_utf8
    if isinstance(reader, StructReader):
        steps = [_step(each, is_wanted=True) for _, each in reader.field_readers]
        return partial(_read_struct, steps)
    if isinstance(reader, OptionReader):
        return partial(_read_optional, _step(reader.option, is_wanted=is_wanted))
    if isinstance(reader, MapReader) and isinstance(reader.key, IntegerReader):
        if isinstance(reader.value, IntegerReader):
            return _read_counts if is_wanted else _skip_counts
        if isinstance(reader.value, BinaryReader):
            return _read_bounds
    return lambda decoder: partial(reader.read, decoder)


def _read_struct(steps: list[_Step], decoder: BinaryDecoder) -> Callable[[], tuple[Any, ...]]:
    reads = [step(decoder) for step in steps]
    return lambda: tuple([read() for read in reads])


def _read_optional(step: _Step, decoder: BinaryDecoder) -> Callable[[], Any]:
    read, branch = step(decoder), decoder.read_int
    return lambda: read() if branch() > 0 else None


def _read_counts(decoder: BinaryDecoder) -> Callable[[], Sequence[int]]:
    read_int, read_ints = decoder.read_int, decoder.read_ints

    def read() -> Sequence[int]:
        pairs: Sequence[int] = ()
        while size := read_int():
            if size < 0:  # its length in bytes follows
                size = -size
                read_int()
            more = read_ints(2 * size)
            pairs = (*pairs, *more) if pairs else more
        return pairs

    return read


def _skip_counts(decoder: BinaryDecoder) -> Callable[[], None]:
    read_int, read_ints, skip = decoder.read_int, decoder.read_ints, decoder.skip

    def read() -> None:
        while size := read_int():
            if size < 0:
                skip(read_int())
            else:
                read_ints(2 * size)

    return read


def _read_bounds(decoder: BinaryDecoder) -> Callable[[], dict[int, bytes]]:
    read_int, read_into = decoder.read_int, decoder.read_int_bytes_dict

    def read() -> dict[int, bytes]:
        bounds: dict[int, bytes] = {}
        while size := read_int():
            if size < 0:
                size = -size
                read_int()
            read_into(size, bounds)
        return bounds

    return read
