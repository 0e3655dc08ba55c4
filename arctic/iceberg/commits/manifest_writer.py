"""Manifests of many entries in a block, for data and delete files, of format versions 2 and 3."""

from __future__ import annotations

from typing import Any

from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.manifest import (
    ManifestContent,
    ManifestEntry,
    ManifestWriterV2,
    manifest_entry_schema_with_data_file,
)
from pyiceberg.schema import Schema
from pyiceberg.typedef import TableVersion
from pyiceberg.types import IntegerType, ListType, NestedField, StructType

from arctic.iceberg.metadata.version_three import with_fields

_DATA_FILE_ID, _EQUALITY_IDS = 2, 135
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

    def _with_partition(self, format_version: TableVersion) -> Schema:
        """Return the schema of entries, with the ids of equality deletes as Java reads them."""
        schema = super()._with_partition(format_version)
        file = schema.find_field(_DATA_FILE_ID)
        assert isinstance(file.field_type, StructType)
        fields = [_narrowed(each) for each in file.field_type.fields]
        return manifest_entry_schema_with_data_file(format_version, StructType(*fields))

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
        return _BlockWriter(
            output_file=self._output_file,
            file_schema=self._with_partition(self.version),
            record_schema=self._with_partition(self.version),
            schema_name="manifest_entry",
            metadata=self._meta,
        )


def _narrowed(field: NestedField) -> NestedField:
    """Return a field of a data file; PyIceberg makes the ids long, on which Java fails."""
    if field.field_id != _EQUALITY_IDS:
        return field
    assert isinstance(field.field_type, ListType)
    ids = field.field_type.model_copy(update={"element_type": IntegerType()})
    return field.model_copy(update={"field_type": ids})


class _BlockWriter(AvroOutputFile[ManifestEntry]):
    """Gathers entries until a block is worth compressing."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._pending: list[ManifestEntry] = []

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
