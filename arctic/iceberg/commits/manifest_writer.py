"""Manifests as commits write them: dense, in order, and small ones merged now and then.

They are of data and delete files, of format versions 2 and 3. PyIceberg works out anew for each how
entries are encoded: half the cost of one with a few entries. It is the same for all whose
partitions have the same fields, and kept.

Many small commits are not to slow planning down. Strategy: tiers, as in a log-structured tree. With
a minimum of 20, manifests of 1 to 19 files are merged with each other once there are 20 of them,
those of 20 to 399 likewise. So a file's entry is rewritten a few times in its life; packing up to a
target size, as Iceberg does, would rewrite one large manifest with every twentieth commit.

Nor is a filter of the partition to open every manifest, because each has files of any. What is
written together is in order of the partition, and cut into manifests of whole partitions. A commit
that replaces files has to write the manifests again that list them: these come out in order, with
what it adds, at the price of its own entries.
"""

from __future__ import annotations

import json
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Any

from pyiceberg.avro.codecs import AVRO_CODEC_KEY, CODEC_MAPPING_ICEBERG_TO_AVRO
from pyiceberg.avro.file import MAGIC, META_SCHEMA, SYNC_SIZE, AvroFileHeader, AvroOutputFile
from pyiceberg.avro.resolver import construct_writer
from pyiceberg.avro.writer import Writer
from pyiceberg.io import OutputFile
from pyiceberg.manifest import (
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    ManifestWriterV2,
    data_file_with_partition,
    manifest_entry_schema_with_data_file,
)
from pyiceberg.schema import Schema
from pyiceberg.table import TableProperties
from pyiceberg.typedef import Record, TableVersion
from pyiceberg.types import IntegerType, ListType, NestedField, StructType
from pyiceberg.utils.properties import property_as_bool, property_as_int
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from arctic.iceberg.metadata.version_three import with_fields

FILES_IN_A_MANIFEST = 1_000
"""From here on a manifest stays: a larger one makes each commit that removes a file slow."""
ENTRIES_AT_ONCE = 20 * FILES_IN_A_MANIFEST
"""That are put in order together, some 5 kB each; more come out in several runs."""

_NAME = "manifest_entry"
_KEPT = 64
_EQUALITY_IDS = 135
_ENTRIES_IN_A_BLOCK = 500
"""Avro blocks are compressed each for itself: one entry in each makes manifests 8 times larger."""


class DenseManifestWriter(ManifestWriterV2):
    """Writes data and delete manifests, many entries in a block."""

    def __init__(self, *arguments: Any, content: ManifestContent, version: TableVersion) -> None:
        super().__init__(*arguments)
        self._content = content
        self._version = version

    def content(self) -> ManifestContent:
        """Return what PyIceberg asks for."""
        return self._content

    @property
    def version(self) -> TableVersion:
        """Return what PyIceberg asks for."""
        return self._version

    def prepare_entry(self, entry: ManifestEntry) -> ManifestEntry:
        """Return an entry as it is written; files of a pair have the fields of version 2."""
        entry = super().prepare_entry(entry)
        if self._version == 3:
            entry.data_file = with_fields(entry.data_file)
        return entry

    @property
    def _meta(self) -> dict[str, str]:
        deletes = self._content == ManifestContent.DELETES
        return {**super()._meta, "content": "deletes" if deletes else "data"}

    def new_writer(self) -> AvroOutputFile[ManifestEntry]:
        """Return what PyIceberg writes entries to."""
        encoding = _encoding(self._spec.partition_type(self._schema), self._version)
        return _BlockWriter(self._output_file, encoding, self._meta)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Encoding:
    """How entries are written."""

    schema: Schema
    text: str
    """The schema, as the header of a file has it."""
    writer: Writer


@lru_cache(maxsize=_KEPT)
def _encoding(partition: StructType, version: TableVersion) -> _Encoding:
    """Return the encoding of entries of a version, with the ids that equality deletes have."""
    file = data_file_with_partition(format_version=version, partition_type=partition)
    narrowed = StructType(*map(_narrowed, file.fields))
    schema = manifest_entry_schema_with_data_file(format_version=version, data_file=narrowed)
    text = json.dumps(AvroSchemaConversion().iceberg_to_avro(schema, schema_name=_NAME))
    return _Encoding(schema=schema, text=text, writer=construct_writer(schema))


def _narrowed(field: NestedField) -> NestedField:
    """Return a field of a data file; PyIceberg makes the ids long, on which Java fails."""
    if field.field_id != _EQUALITY_IDS:
        return field
    assert isinstance(field.field_type, ListType)
    ids = field.field_type.model_copy(update={"element_type": IntegerType()})
    return field.model_copy(update={"field_type": ids})


class _BlockWriter(AvroOutputFile[ManifestEntry]):
    """Gathers entries until a block is worth compressing."""

    def __init__(
        self, output_file: OutputFile, encoding: _Encoding, metadata: Mapping[str, str]
    ) -> None:
        # Without PyIceberg's own, which works the encoding out.
        self.output_file = output_file
        self.file_schema = encoding.schema
        self.schema_name = _NAME
        self.sync_bytes = os.urandom(SYNC_SIZE)
        self.writer = encoding.writer
        self.metadata = dict(metadata)
        self._schema_text = encoding.text
        self._pending: list[ManifestEntry] = []

    def _write_header(self) -> None:
        codec = self.metadata[AVRO_CODEC_KEY]
        named = {
            **self.metadata,
            "avro.schema": self._schema_text,
            AVRO_CODEC_KEY: CODEC_MAPPING_ICEBERG_TO_AVRO.get(codec, codec),
        }
        header = AvroFileHeader(MAGIC, named, self.sync_bytes)
        construct_writer(META_SCHEMA).write(self.encoder, header)

    def write_block(self, objects: list[ManifestEntry]) -> None:
        self._pending += objects
        if len(self._pending) >= _ENTRIES_IN_A_BLOCK:
            self._flush()

    def __exit__(self, *exception: Any) -> None:
        if exception[0] is None:
            self._flush()
        super().__exit__(*exception)

    def _flush(self) -> None:
        if self._pending:
            super().write_block(self._pending)
            self._pending = []


def group_for_merge(
    manifests: Sequence[ManifestFile], properties: Mapping[str, str], *, written_by: int
) -> list[tuple[ManifestFile, ...]]:
    """Divide manifests into those that stay alone and those that become one.

    Args:
        manifests: of the new snapshot; every one is in exactly one group.
        properties: ``commit.manifest-merge.enabled``, ``commit.manifest.min-count-to-merge``.
        written_by: the new snapshot; what it has just written is not written again.
    """
    least = _least_count(properties)
    tiers: dict[object, list[ManifestFile]] = defaultdict(list)
    for manifest in manifests:
        files = (manifest.added_files_count or 0) + (manifest.existing_files_count or 0)
        is_small = 0 < files < FILES_IN_A_MANIFEST
        if least is None or not is_small or manifest.added_snapshot_id == written_by:
            tiers[manifest.manifest_path].append(manifest)
        else:
            tier = (manifest.content, manifest.partition_spec_id, _level(files, least))
            tiers[tier].append(manifest)
    groups: list[tuple[ManifestFile, ...]] = []
    for members in tiers.values():
        if least is not None and len(members) >= least:
            groups.append(tuple(members))
        else:
            groups.extend((member,) for member in members)
    return groups


def _level(files: int, least: int) -> int:
    level = 0
    while files >= least:
        files //= least
        level += 1
    return level


def _least_count(properties: Mapping[str, str]) -> int | None:
    """Return how many manifests make a merge worth it; None when merging is off."""
    enabled = property_as_bool(
        dict(properties),
        TableProperties.MANIFEST_MERGE_ENABLED,
        TableProperties.MANIFEST_MERGE_ENABLED_DEFAULT,
    )
    least = property_as_int(
        dict(properties),
        TableProperties.MANIFEST_MIN_MERGE_COUNT,
        TableProperties.MANIFEST_MIN_MERGE_COUNT_DEFAULT,
    )
    return max(least or 0, 2) if enabled else None


def cut_in_order(entries: Iterable[ManifestEntry], width: int) -> list[Sequence[ManifestEntry]]:
    """Return entries in order of the partition, in runs of whole partitions and like length.

    A partition of more files than a manifest should have is cut, and shares none of its runs.

    Args:
        entries: of files of one spec; those of one partition keep their order.
        width: how many fields a partition has.
    """

    def order(entry: ManifestEntry) -> tuple[Any, ...]:
        return _order(entry.data_file.partition, width)

    ordered = sorted(entries, key=order)
    fair = len(ordered) / max(1, math.ceil(len(ordered) / FILES_IN_A_MANIFEST))
    runs: list[list[ManifestEntry]] = [[]]
    for _, found in groupby(ordered, key=order):
        partition = list(found)
        if runs[-1] and (
            len(runs[-1]) >= fair or len(runs[-1]) + len(partition) > FILES_IN_A_MANIFEST
        ):
            runs.append([])
        runs[-1] += partition
    return [piece for run in runs for piece in _pieces(run)]


def _pieces(run: Sequence[ManifestEntry]) -> list[Sequence[ManifestEntry]]:
    count = math.ceil(len(run) / FILES_IN_A_MANIFEST)
    ends = [len(run) * number // max(1, count) for number in range(count + 1)]
    return [run[start:end] for start, end in pairwise(ends)]


def _order(partition: Record, width: int) -> tuple[Any, ...]:
    """Return what sorts partitions as their bounds do, those without a value first."""
    values = [partition[position] for position in range(width)]
    return tuple([(False,) if value is None else (True, value) for value in values])
