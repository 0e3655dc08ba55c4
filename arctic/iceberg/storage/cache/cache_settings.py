"""What of data files stays on this machine, where, and how much.

Rules:
    - Settings go to other machines: a folder that nobody named is found where it is used.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass

from arctic.iceberg.storage.cache.block import Blocks
from arctic.iceberg.storage.cache.disk_blocks import DiskBlocks, user_id
from arctic.iceberg.storage.cache.memory_blocks import MemoryBlocks
from arctic.iceberg.storage.local_files import local_path
from arctic.table.filename import has_random_name

FOLDER_VARIABLE = "ARCTIC_CACHE_PATH"
_VERSION = "v1"
"""Of the files in the folder: another one is another folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """In force for one table."""

    on_disk: bool
    """Else in the memory of each process."""
    folder: str | None
    """None: as the machine says."""
    max_bytes: int
    max_age_ms: int | None
    """Of the partitions whose files are kept; None: of any age."""
    with_local: bool
    """Whether files are kept that this machine reaches by a path."""

    @property
    def where(self) -> str:
        """Where parts are, for people."""
        return f"in {self._folder()}" if self.on_disk else "in the memory of this process"

    def takes(self, path: str) -> bool:
        """Say whether parts of a file are kept."""
        return has_random_name(path) and (self.with_local or local_path(path) is None)

    def blocks(self) -> Blocks:
        """Return where they are kept on this machine."""
        if not self.on_disk:
            return MemoryBlocks(self.max_bytes)
        return DiskBlocks(os.path.join(self._folder(), _VERSION), self.max_bytes)

    def _folder(self) -> str:
        given = self.folder or os.environ.get(FOLDER_VARIABLE)
        if given:
            return os.path.abspath(os.path.expanduser(given))
        return os.path.join(tempfile.gettempdir(), f"arctic-cache-{user_id()}")
