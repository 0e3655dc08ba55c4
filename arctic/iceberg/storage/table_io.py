"""Files of a table by path, in any process.

Rules:
    - A path is used byte for byte as it stands in a manifest: ``/x``, ``file:/x`` and
      ``file:///x`` all open, and none is rewritten or percent-decoded.
    - A task that reads and writes local files never imports PyIceberg.
    - Of files that are far away, several are deleted at a time.

Must not know: tables, or what is inside a file.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, LocalFileSystem

from arctic.errors import ArcticError, StorageError, UnsupportedError
from arctic.iceberg.storage import local_files
from arctic.iceberg.storage.cache.block import file_key
from arctic.iceberg.storage.cache.cache_counts import OF_PROCESS, CacheCounts
from arctic.iceberg.storage.cache.cache_settings import CacheSettings
from arctic.iceberg.storage.cache.cached_file import CachedFile, FileParts
from arctic.iceberg.storage.cache.kept_small_files import KEPT_SMALL_FILES
from arctic.iceberg.storage.cache.newest_partitions import NewestPartitions
from arctic.iceberg.storage.cache.written_through import WrittenThrough
from arctic.iceberg.storage.far_threads import far_threads
from arctic.iceberg.storage.io_properties import IO_IMPL, KeySource, without_checks
from arctic.iceberg.storage.local_files import is_local
from arctic.retry import AT_ONCE

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.table import Table

_IO_PREFIXES = ("s3.", "gcs.", "adls.", "hdfs.", "hf.", "client.", IO_IMPL)

_MEANS_ANOTHER = re.compile(r"[A-Za-z][\w+.-]*:.*[#?\t\r\n]", re.DOTALL)
"""URIs of which PyIceberg cuts a part off before it opens a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file as a listing shows it."""

    path: str
    """Begins as the folder that was listed does."""
    size_bytes: int
    modified_ms: int | None
    """Milliseconds since 1970-01-01 UTC; None where the store does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableIO:
    """Opens, creates and deletes files; holds only texts, so it goes to executors."""

    properties: Mapping[str, str] = field(repr=False)
    """PyIceberg FileIO properties; not printed, because they hold passwords."""
    location: str
    """Where paths of an unknown scheme are taken to be."""
    cache: CacheSettings | None = None
    """What stays on the machine where files are opened; None: nothing."""
    newest: NewestPartitions | None = None
    """Of which partitions; None: of all."""
    keys: KeySource | None = field(default=None, repr=False)
    """Where keys come from that end; None: those of the properties last."""
    counts: CacheCounts | None = field(default=None, compare=False, repr=False)
    """What to add to where there is a cache, if anyone asks."""

    @classmethod
    def of(cls, store: Table) -> TableIO:
        """Return the access that a store's catalog gives, without its other table properties."""
        properties = {
            name: text
            for name, text in without_checks(store.io.properties).items()
            if name not in store.properties or name.startswith(_IO_PREFIXES)
        }
        return cls(properties=properties, location=store.location())

    def without_cache(self) -> TableIO:
        """Return the access that asks where files lie, and nowhere else."""
        return replace(self, cache=None)

    def open_input(self, path: str) -> Any:
        """Open a file for reading at any position, as pyarrow does.

        Raises:
            StorageError: the file is missing or cannot be read.
            UnsupportedError: no file system is installed for the path's scheme.
        """
        if self.cache is None or not self.cache.takes(path):
            return self._plain_input(path)
        key, counts = file_key(path, self.properties), self.counts or OF_PROCESS
        return CachedFile(FileParts(path, key, self.cache.blocks(), self._plain_input, counts))

    def _plain_input(self, path: str) -> Any:
        local = self._local_path(path)
        try:
            if local is not None:
                return local_files.open_file(local)
            opened = self._reached(path, lambda access: KEPT_SMALL_FILES.opened(access, path))
        except FileNotFoundError as error:
            raise StorageError(f"file {path!r} does not exist") from error
        except (OSError, ValueError, ImportError) as error:
            raise _failed("open", path, error) from error
        return opened if isinstance(opened, pa.NativeFile) else pa.PythonFile(opened, mode="r")

    def create_output(self, path: str) -> Any:
        """Create a file, with its folders; close the stream to complete it.

        Raises:
            StorageError: the file exists already or cannot be written.
            UnsupportedError: no file system is installed for the path's scheme.
        """
        output = self._plain_output(path)
        if self.cache is None or not self.cache.takes(path):
            return output
        return WrittenThrough(output, file_key(path, self.properties), self.cache.blocks())

    def _plain_output(self, path: str) -> Any:
        local = self._local_path(path)
        try:
            if local is not None:
                return local_files.create_file(local)
            created = self._reached(path, lambda io: io.new_output(path).create(overwrite=False))
        except (OSError, ValueError, ImportError) as error:
            raise _failed("create", path, error) from error
        return created if isinstance(created, pa.NativeFile) else pa.PythonFile(created, mode="w")

    def delete_quietly(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Delete files as far as possible; return those that may still be there.

        For files that nobody refers to: a leftover costs space, never rows. So a URI with a ``#``
        in it is left alone, because it would delete another file.
        """
        named = tuple(paths)
        if all(map(is_local, named)):
            return tuple(path for path in named if not self._deleted(path))
        deleted = far_threads().map(self._deleted, named)
        return tuple(path for path, gone in zip(named, deleted, strict=True) if not gone)

    def delete_tree(self, location: str) -> None:
        """Delete a folder and everything in it; a missing one is fine.

        Raises:
            StorageError: the folder cannot be deleted.
            UnsupportedError: no file system is installed for the location's scheme.
        """
        try:
            file_system, folder = self._file_system(location)
            file_system.delete_dir(folder)
        except FileNotFoundError:
            return
        except (OSError, pa.ArrowInvalid) as error:
            raise _failed("delete", location, error) from error

    def list_files(self, folder: str) -> tuple[FoundFile, ...]:
        """Return the files below a folder, by path; a missing folder has none.

        A file whose path would open another one, because of a ``#`` in its name, is left out, and
        so is what links to folders lead to.

        Args:
            folder: a path of a scheme that a file system is installed for.

        Raises:
            StorageError: the folder cannot be listed.
            UnsupportedError: this access cannot list files.
        """
        file_system, root = self._file_system(folder)
        root = root.rstrip("/")
        try:
            found = _below(file_system, root)
        except (OSError, pa.ArrowInvalid) as error:
            raise _failed("list", folder, error) from error
        files = []
        for info in found:
            path = folder.rstrip("/") + info.path[len(root) :]
            if info.type == FileType.File and self._file_system(path)[1] == info.path:
                files.append(_found_file(path, info))
        return tuple(sorted(files, key=lambda file: file.path))

    def holds_anything(self, location: str) -> bool:
        """Say whether anything lies in a folder, itself a folder or a file.

        Raises:
            StorageError: the folder cannot be listed.
            UnsupportedError: this access cannot list files.
        """
        file_system, folder = self._file_system(location)
        selector = FileSelector(folder.rstrip("/"), allow_not_found=True)
        try:
            # Others may take away the folder, or what is in it, while it is looked into.
            found = AT_ONCE.run(lambda: file_system.get_file_info(selector), on=FileNotFoundError)
            return bool(found)
        except (OSError, pa.ArrowInvalid) as error:
            raise _failed("list", location, error) from error

    def delete_if_empty(self, location: str, *, with_empty_folders: bool = False) -> None:
        """Delete a local folder with nothing in it; object stores have no folders.

        Args:
            location: the folder.
            with_empty_folders: also delete those in it, at any depth, with nothing in them.

        Raises:
            UnsupportedError: no file system is installed for the location's scheme.
        """
        file_system, folder = self._file_system(location)
        if not isinstance(file_system, LocalFileSystem):
            return
        walked = os.walk(folder, topdown=False) if with_empty_folders else ()
        for each in (*(found for found, _, _ in walked), folder):
            with contextlib.suppress(OSError):
                os.rmdir(each)

    def _deleted(self, path: str) -> bool:
        if _MEANS_ANOTHER.match(path):
            return False
        try:
            self._reached(path, lambda file_io: file_io.delete(path))
        except FileNotFoundError:
            return True
        except (OSError, ValueError, ImportError, UnsupportedError):
            return False
        return True

    def _local_path(self, path: str) -> str | None:
        return None if IO_IMPL in self.properties else local_files.local_path(path)

    def _reached(self, path: str, ask: Callable[[FileIO], Any]) -> Any:
        """Return what an access to a file answers; once more where its keys were refused."""
        given = self._properties(path)
        try:
            return ask(self._file_io(path, given))
        except FileNotFoundError:
            raise
        except OSError:
            # Stores and clients have many words for keys that have ended.
            others = None if self.keys is None else self.keys.renewed(path, given)
            if others is None:
                raise
            return ask(self._file_io(path, others))

    def _properties(self, path: str) -> Mapping[str, str]:
        return self.properties if self.keys is None else self.keys.properties(path)

    def _file_io(self, path: str, properties: Mapping[str, str]) -> FileIO:
        from arctic.iceberg.storage.file_io import cached_file_io  # noqa: PLC0415 - late: see the rules

        where = path if re.match(r"[A-Za-z][\w+.-]*:|/", path) else self.location
        scheme = where.partition(":")[0] if not where.startswith("/") else "file"
        return cached_file_io(tuple(sorted(properties.items())), scheme)

    def _file_system(self, location: str) -> tuple[FileSystem, str]:
        from arctic.iceberg.storage.file_io import file_system  # noqa: PLC0415 - late: see the rules

        return file_system(self._file_io(location, self._properties(location)), location)


def _below(file_system: FileSystem, root: str) -> list[FileInfo]:
    if not isinstance(file_system, LocalFileSystem):
        return list(
            file_system.get_file_info(FileSelector(root, allow_not_found=True, recursive=True))
        )

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    # Arrow follows links, out of the folder and in circles.
    walked = os.walk(root, onerror=refuse)
    paths = [f"{folder}/{name}" for folder, _, names in walked for name in names]
    return list(file_system.get_file_info(paths))


def _found_file(path: str, info: FileInfo) -> FoundFile:
    nanoseconds = info.mtime_ns or 0
    return FoundFile(
        path=path,
        size_bytes=info.size or 0,
        modified_ms=nanoseconds // 1_000_000 if nanoseconds > 0 else None,
    )


def is_file_gone(error: StorageError) -> bool:
    """Say whether an error of this process is about a file that is not there."""
    return isinstance(error.__cause__, FileNotFoundError)


def _failed(action: str, path: str, error: Exception) -> ArcticError:
    if not isinstance(error, OSError):
        return UnsupportedError(f"cannot {action} file {path!r}: {error}")
    return StorageError(f"cannot {action} file {path!r}: {error}")
