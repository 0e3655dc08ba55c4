"""Metadata with very many snapshots: looked up in and written without going over all of them.

A commit adds one snapshot, and PyIceberg makes JSON of every one of them and looks for ids from the
oldest on: with ten thousand that is most of a small commit.

Rules:
    - What is known of a list holds for equal items at the same places alone. Snapshots are shared
      between states of a table and never changed, see ``kept_metadata``.
    - The file says what PyIceberg's own writer would have said; the order of its members differs.
    - What grows stands at the beginning of the file, so that its checksum is gone on with too.

Memory: of as many lists as ``GrowingLists`` keeps the JSON, 600 bytes for a snapshot, and 100 for
its place.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from itertools import islice
from typing import Any

from pyiceberg.io import FileIO
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table.metadata import (
    TableMetadata,
    TableMetadataCommonFields,
    TableMetadataV2,
    TableMetadataV3,
)
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import IcebergBaseModel
from pyiceberg.utils.config import Config

from arctic.iceberg.storage.packed_metadata import PACKED, packed
from arctic.last_used import GrowingLists

_LISTS = {"snapshots": "snapshots", "snapshot_log": "snapshot-log"}
"""The lists that grow with every commit, and what the file calls them."""
_BLOCK_BYTES = 1 << 16
_NEWEST = 16
"""Snapshots that are looked at before an index of all of them is asked for."""
_MOST_APART = 500
"""Snapshots that an index is copied with, for one more."""


def write_metadata(metadata: TableMetadata, io: FileIO, path: str) -> None:
    """Write a metadata file, as the method of that name of PyIceberg's catalogs does."""
    output = io.new_output(path)
    is_new = type(metadata) is TableMetadataV3
    writes_nulls = not is_new and bool(Config().get_bool("legacy-current-snapshot-id"))
    if not (is_new or type(metadata) is TableMetadataV2) or writes_nulls:
        ToOutputFile.table_metadata(metadata, output)
        return
    # PyIceberg refuses to write version 3, whose fields it has.
    others = IcebergBaseModel.model_dump_json(metadata, exclude=set(_LISTS)).encode()
    parts = [b"{"]
    for name, called in _LISTS.items():
        blocks = _WRITTEN.of((metadata.table_uuid, name), getattr(metadata, name))
        parts[-1] += f'"{called}":['.encode()
        parts += [*blocks, b"],"]
    parts[-1] += others[1:]
    with output.create() as stream:
        for part in packed(parts) if path.endswith(PACKED) else parts:
            stream.write(part)


def look_up_by_index() -> None:
    """Have snapshots of every table looked up by their ids in an index."""
    TableMetadataCommonFields.snapshot_by_id = _snapshot_by_id  # type: ignore[method-assign,assignment]


def _snapshot_by_id(metadata: TableMetadataCommonFields, snapshot_id: int) -> Snapshot | None:
    for snapshot in islice(reversed(metadata.snapshots), _NEWEST):
        if snapshot.snapshot_id == snapshot_id:
            return snapshot
    return _PLACES.of(metadata.table_uuid, metadata.snapshots).get(snapshot_id)


def _written(blocks: tuple[bytes, ...] | None, items: Sequence[Any]) -> tuple[bytes, ...]:
    """Return the JSON of items after that of others, with commas between all of them."""
    before = blocks or ()
    if not items:
        return before
    text = b",".join(item.model_dump_json().encode() for item in items)
    if not before:
        return (text,)
    last = before[-1] + b"," + text
    if len(before[-1]) < _BLOCK_BYTES:
        return *before[:-1], last
    return *before, b"," + text


def _indexed(
    known: ChainMap[int, Snapshot] | None, items: Sequence[Any]
) -> ChainMap[int, Snapshot]:
    """Return snapshots by their ids; the newest ones apart, so that few are copied."""
    newest, others = (ChainMap({}, {}) if known is None else known).maps
    newest = {**newest, **{item.snapshot_id: item for item in items}}
    many = len(newest) > _MOST_APART
    return ChainMap({}, {**others, **newest}) if many else ChainMap(newest, others)


_WRITTEN = GrowingLists(_written)
_PLACES = GrowingLists(_indexed)
"""Both of this process."""
