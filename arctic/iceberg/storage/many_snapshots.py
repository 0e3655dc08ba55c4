"""Metadata with very many snapshots: looked up in and written without going over all of them.

A commit adds one snapshot, and PyIceberg makes JSON of every one of them and looks for ids from the
oldest on: with ten thousand that is most of a small commit.

Rules:
    - What is known of a list holds for the very same objects at the same places alone. Snapshots
      are shared between states of a table and never changed, see ``kept_metadata``.
    - The file says what PyIceberg's own writer would have said; the order of its members differs.

Memory: of ``_MOST`` lists the JSON, 600 bytes for a snapshot, and 100 for its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter, is_
from typing import Any, Generic, TypeVar

from pyiceberg.io import FileIO
from pyiceberg.serializers import NOOP_COMPRESSOR, Compressor, ToOutputFile
from pyiceberg.table.metadata import (
    TableMetadata,
    TableMetadataCommonFields,
    TableMetadataV2,
    TableMetadataV3,
)
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import IcebergBaseModel
from pyiceberg.utils.config import Config

from arctic.last_used import LastUsed

T = TypeVar("T")

_MOST = 16
_LISTS = {"snapshots": "snapshots", "snapshot_log": "snapshot-log"}
"""The lists that grow with every commit, and what the file calls them."""
_BLOCK_BYTES = 1 << 16


class GrowingLists(Generic[T]):
    """What was made of lists that grow at their end; safe for threads and forks."""

    def __init__(self, grown: Callable[[T | None, Sequence[Any]], T]) -> None:
        """Take what makes a value from that of the items before, or None, and further items."""
        self._grown = grown
        self._kept: LastUsed[object, tuple[Sequence[Any], int, T]] = LastUsed()

    def of(self, key: object, items: Sequence[Any]) -> T:
        """Return what is made of the items; that of a shorter list with this key is gone on with.

        Values of other lists are theirs still: whoever makes one changes nothing in place.
        """
        before, count, value = self._kept.get(key) or ((), 0, None)
        if value is None or before is not items or count != len(items):
            if count > len(items) or not all(map(is_, before, items)):
                count, value = 0, None
            value = self._grown(value, items[count:])
            self._kept.put(key, (items, len(items), value), weight=1, most=_MOST)
        return value


def write_metadata(metadata: TableMetadata, io: FileIO, path: str) -> None:
    """Write a metadata file, as the method of that name of PyIceberg's catalogs does."""
    output = io.new_output(path)
    is_new = type(metadata) is TableMetadataV3
    writes_nulls = not is_new and bool(Config().get_bool("legacy-current-snapshot-id"))
    if not (is_new or type(metadata) is TableMetadataV2) or writes_nulls:
        ToOutputFile.table_metadata(metadata, output)
        return
    # PyIceberg refuses to write version 3, whose fields it has.
    parts = [IcebergBaseModel.model_dump_json(metadata, exclude=set(_LISTS)).encode()[:-1]]
    for name, called in _LISTS.items():
        blocks = _WRITTEN.of((metadata.table_uuid, name), getattr(metadata, name))
        parts += [f',"{called}":['.encode(), *blocks, b"]"]
    parts.append(b"}")
    compressor = Compressor.get_compressor(path)
    if compressor is not NOOP_COMPRESSOR:
        parts = [compressor.bytes_compressor()(b"".join(parts))]
    with output.create() as stream:
        for part in parts:
            stream.write(part)


def look_up_by_index() -> None:
    """Have snapshots of every table looked up by their ids in an index."""
    TableMetadataCommonFields.snapshot_by_id = _snapshot_by_id  # type: ignore[method-assign,assignment]


def _snapshot_by_id(metadata: TableMetadataCommonFields, snapshot_id: int) -> Snapshot | None:
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


def _indexed(known: dict[int, Snapshot] | None, items: Sequence[Any]) -> dict[int, Snapshot]:
    """Return snapshots by their ids."""
    ids = map(attrgetter("snapshot_id"), items)
    return {**(known or {}), **dict(zip(ids, items, strict=True))}


_WRITTEN = GrowingLists(_written)
_PLACES = GrowingLists(_indexed)
"""Both of this process."""
