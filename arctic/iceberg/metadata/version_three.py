"""What format version 3 adds to manifests: rows have ids, and deletes are vectors in Puffin files.

PyIceberg has its fields behind those of version 2 in the records of both, and no name for them.

Rules:
    - A data file without a first row id inherits one from its manifest, in the order of the live
      entries. Whoever writes the entry again writes it with its id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    MANIFEST_LIST_FILE_SCHEMAS,
    DataFile,
    ManifestContent,
    ManifestFile,
)
from pyiceberg.typedef import Record

_FIELDS = {field.name: place for place, field in enumerate(DATA_FILE_TYPE[3].fields)}
_MANIFEST_FIELDS = {
    field.name: place for place, field in enumerate(MANIFEST_LIST_FILE_SCHEMAS[3].fields)
}
_FIRST_ROW_ID = "first_row_id"


class BlobPlace(NamedTuple):
    """Where a deletion vector lies in its Puffin file."""

    offset: int
    length: int


def vector_place(file: DataFile) -> BlobPlace | None:
    """Return where the vector of a delete file lies; None: it is none."""
    offset, length = (
        _value(file, _FIELDS[f"content_{name}"]) for name in ("offset", "size_in_bytes")
    )
    return None if offset is None or length is None else BlobPlace(offset, length)


def vector_target(file: DataFile) -> str | None:
    """Return the data file that the vector of a delete file is of; None: it does not say."""
    found = _value(file, _FIELDS["referenced_data_file"])
    return None if found is None else str(found)


def with_fields(file: DataFile, **fields: Any) -> DataFile:
    """Return a data or delete file with the fields of version 3, of which some may be given."""
    full = DataFile(*_padded(file, len(_FIELDS)))
    full.spec_id = file.spec_id
    for name, value in fields.items():
        full[_FIELDS[name]] = value
    return full


def first_row_id(manifest: ManifestFile) -> int | None:
    """Return what the data files of a manifest count from; None: nothing was assigned."""
    found = _value(manifest, _MANIFEST_FIELDS[_FIRST_ROW_ID])
    return None if found is None else int(found)


def with_first_row_id(manifest: ManifestFile, first: int | None) -> ManifestFile:
    """Return a manifest as lists of version 3 name it."""
    full = ManifestFile(*_padded(manifest, len(_MANIFEST_FIELDS)))
    full[_MANIFEST_FIELDS[_FIRST_ROW_ID]] = first
    return full


def inherit_row_ids(manifest: ManifestFile, files: Iterable[DataFile]) -> None:
    """Give the live files of a manifest, in its order, the row ids that they inherit from it."""
    place, following = _FIELDS[_FIRST_ROW_ID], first_row_id(manifest)
    if following is None or manifest.content != ManifestContent.DATA:
        return
    for file in files:
        if _value(file, place) is None:
            file[place] = following
            following += file.record_count


def _value(record: Record, place: int) -> Any:
    return record[place] if place < len(record) else None


def _padded(record: Record, width: int) -> list[Any]:
    values = [record[place] for place in range(len(record))]
    return values + [None] * (width - len(values))
