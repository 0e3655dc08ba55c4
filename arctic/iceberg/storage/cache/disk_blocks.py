"""Blocks in a folder of this machine, which all its processes share.

Strategy: a file for each block, under a name that is made of its key. Who reads takes no lock: a
file is there whole or not at all, because it gets its name once it is written. Who adds files holds
a lock of the operating system, which goes with the process that has it, however that ends. The
locked file says how many bytes there are; they are added to it before the first is written, so it
never says too few. Where there is no more room, all files are counted, and those go that were not
read for longest, until a tenth of the room is free.

Rules:
    - Bytes that are not exactly what was written for this block of this file are no block: cut,
      damaged, of another file, of another version of Arctic.
    - The files of blocks never take more than ``max_bytes``, whoever writes and whoever is killed.
    - Nothing that happens to the folder fails a read: what cannot be read is not there, what cannot
      be written is not kept, and the reason is logged once.
    - The folder is of the user that runs this, and of nobody else: who could write here could
      change what is read.
    - Who does not get the lock for a moment does not wait: a block that is not kept is fetched.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from zlib import crc32

from arctic.iceberg.storage.cache.block import Block, block_range
from arctic.iceberg.storage.cache.cache_counts import OF_PROCESS
from arctic.retry import RetryPolicy

try:
    import fcntl
except ImportError:  # Windows: nothing is kept on disk there
    fcntl = None  # type: ignore[assignment]

_log = logging.getLogger(__name__)

_NAME = re.compile(r"[0-9a-f]{40}-\d+(\.new)?")
_NEW = ".new"
_LOCK = "bytes"
_WHILE_LOCKED = RetryPolicy(retries=19, min_wait_ms=10, max_wait_ms=10)
_MAGIC = b"ARB1"
_HEAD = struct.Struct("<4s20sIQ")
"""Magic, key of the file, number of the block, length of the file."""
_SUM = struct.Struct("<I")
"""A checksum of all the rest: of 32 bits, which a disk that errs meets once in 4 billion errors,
and in a fifth of the time of a hash."""
HEAD_BYTES = _HEAD.size + _SUM.size

_KEPT_SHARE = 0.9
"""Of the room that stays taken when it is made: to count all files takes a while."""

_told: set[str] = set()
"""Folders of which this process has logged a failure."""


@dataclass(frozen=True, slots=True)
class DiskBlocks:
    """The blocks in a folder."""

    folder: str
    max_bytes: int
    """Of all files of blocks, with those that are being written."""

    def get(self, key: bytes, number: int) -> Block | None:
        """Return a block that is here; one that is damaged is removed."""
        path = self._path(key, number)
        try:
            with open(path, "rb", buffering=0) as file:
                if os.fstat(file.fileno()).st_uid != user_id():
                    return None
                sealed = file.read()
                with contextlib.suppress(OSError):  # a folder that is only read
                    os.utime(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._unused(error)
            return None
        found = block_in(sealed, key, number)
        if found is None:
            _log.warning("cached block %s is damaged; it is fetched anew", path)
            self.forget(key, number)
        return found

    def put(self, key: bytes, blocks: list[Block]) -> bool:
        """Keep blocks of a file."""
        try:
            with self._locked() as lock:
                new = [each for each in blocks if not os.path.exists(self._path(key, each.number))]
                sealed = [(self._path(key, each.number), sealed_block(key, each)) for each in new]
                if not self._made_room(lock, sum(len(content) for _, content in sealed)):
                    return False
                for path, content in sealed:
                    _write(path, content)
        except BlockingIOError:
            return False
        except OSError as error:
            self._unused(error)
            return False
        return True

    def forget(self, key: bytes, number: int) -> None:
        """Let a block go."""
        with contextlib.suppress(OSError):
            os.unlink(self._path(key, number))

    def _path(self, key: bytes, number: int) -> str:
        name = key.hex()
        return os.path.join(self.folder, name[:2], f"{name}-{number}")

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        if fcntl is None:
            raise OSError("this system has no locks of files")
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        found = os.stat(self.folder)
        if found.st_uid != user_id() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise OSError("others can write there; expected a folder of this user, with mode 700")
        # Nobody can put a link here: the folder is ours.
        lock = os.open(os.path.join(self.folder, _LOCK), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            take = partial(fcntl.flock, lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _WHILE_LOCKED.run(take, on=BlockingIOError)
            yield lock
        finally:
            os.close(lock)

    def _made_room(self, lock: int, more: int) -> bool:
        """Say whether so many bytes may be written; they count from now on."""
        if more > self.max_bytes:
            return False
        text = os.pread(lock, 32, 0)
        taken = int(text) if text.strip().isdigit() else None
        if taken is None or taken + more > self.max_bytes:
            taken = self._cut(max(0, min(int(self.max_bytes * _KEPT_SHARE), self.max_bytes) - more))
        fits = taken + more <= self.max_bytes
        os.pwrite(lock, f"{taken + more if fits else taken:<31}\n".encode(), 0)
        return fits

    def _cut(self, most: int) -> int:
        """Remove what was not read for longest, until at most so much is left; return how much."""
        found = []
        for part in os.scandir(self.folder):
            if part.is_dir(follow_symlinks=False):
                # Nobody else writes now: what has not got its name yet never will.
                found += [
                    (not each.name.endswith(_NEW), each.stat(follow_symlinks=False), each.path)
                    for each in os.scandir(part.path)
                    if _NAME.fullmatch(each.name)
                ]
        found.sort(key=lambda each: (each[0], each[1].st_mtime_ns, each[2]))
        taken = before = sum(each.st_size for _, each, _ in found)
        for is_whole, each, path in found:
            if is_whole and taken <= most:
                break
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            taken -= each.st_size
        OF_PROCESS.evicted(before - taken)
        return taken

    def _unused(self, error: OSError) -> None:
        if self.folder not in _told:
            _told.add(self.folder)
            _log.warning("cache %r: %s; reads go on without it", self.folder, error)


def _write(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    new = path + _NEW
    try:
        with open(new, "wb", buffering=0) as file:
            if file.write(content) != len(content):
                raise OSError("no more than a part of a block could be written")
        os.replace(new, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def user_id() -> int:
    """Return whose files are ours; 0 where a system has no numbers of users."""
    return os.getuid() if hasattr(os, "getuid") else 0


def sealed_block(key: bytes, block: Block) -> bytes:
    """Return the bytes of a file that holds a block."""
    head = _HEAD.pack(_MAGIC, key, block.number, block.file_bytes)
    return b"".join((head, _SUM.pack(crc32(block.content, crc32(head))), block.content))


def block_in(sealed: bytes, key: bytes, number: int) -> Block | None:
    """Return the block in the bytes of a file; None: it is not in them, or not whole."""
    if len(sealed) < HEAD_BYTES:
        return None
    head, content = sealed[: _HEAD.size], sealed[HEAD_BYTES:]
    magic, found_key, found_number, file_bytes = _HEAD.unpack(head)
    if (magic, found_key, found_number) != (_MAGIC, key, number):
        return None
    (checksum,) = _SUM.unpack_from(sealed, _HEAD.size)
    start, end = block_range(number, file_bytes)
    if len(content) != end - start or crc32(content, crc32(head)) != checksum:
        return None
    return Block(number, file_bytes, content)
