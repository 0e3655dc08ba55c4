"""Manifests whose Avro blocks hold many entries, for data files and for delete files."""

from __future__ import annotations

from typing import Any

from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    ManifestContent,
    ManifestEntry,
    ManifestWriterV2,
)

_ENTRIES_IN_A_BLOCK = 500
"""Avro blocks are compressed each for itself: one entry in each makes manifests 8 times larger."""


class DenseManifestWriter(ManifestWriterV2):
    """Writes data and delete manifests, many entries in a block."""

    def __init__(self, *arguments: Any, content: ManifestContent) -> None:
        super().__init__(*arguments)
        self._content = content

    def content(self) -> ManifestContent:
        """Return what PyIceberg asks for."""
        return self._content

    @property
    def _meta(self) -> dict[str, str]:
        deletes = self._content == ManifestContent.DELETES
        return {**super()._meta, "content": "deletes" if deletes else "data"}

    def new_writer(self) -> AvroOutputFile[ManifestEntry]:
        """Return what PyIceberg writes entries to."""
        return _BlockWriter(
            output_file=self._output_file,
            file_schema=self._with_partition(self.version),
            record_schema=self._with_partition(DEFAULT_READ_VERSION),
            schema_name="manifest_entry",
            metadata=self._meta,
        )


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
