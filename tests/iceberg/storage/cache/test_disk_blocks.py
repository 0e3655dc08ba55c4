"""Blocks in a folder: whole or not there, never more than may be, whoever dies or meddles."""

from __future__ import annotations

import fcntl
import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arctic.iceberg.storage.cache import disk_blocks
from arctic.iceberg.storage.cache.block import BLOCK_BYTES, Block, blocks_in
from arctic.iceberg.storage.cache.disk_blocks import HEAD_BYTES, DiskBlocks

EACH = 1_000
MOST = 20 * (EACH + HEAD_BYTES)

FILLS = """
import sys
from arctic.iceberg.storage.cache.block import Block
from arctic.iceberg.storage.cache.disk_blocks import DiskBlocks
folder, most, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
blocks = DiskBlocks(folder, most)
print("begun", flush=True)
number = 0
while True:
    number += 1
    key = (number * 7919 % 50).to_bytes(20, "big")
    blocks.put(key, [Block(0, 1000, bytes([key[-1]]) * 1000)])
    found = blocks.get(key, 0)
    assert found is None or found.content == bytes([key[-1]]) * 1000
"""


def key(number: int) -> bytes:
    """Return what a file is known by."""
    return number.to_bytes(20, "big")


def block(number: int) -> Block:
    """Return a file of one block."""
    return Block(0, EACH, bytes([number % 251]) * EACH)


def taken(folder: Path) -> int:
    """Return the bytes of all files of blocks."""
    return sum(each.stat().st_size for each in folder.glob("*/*"))


@contextmanager
def filling(folder: Path, seed: int) -> Iterator[subprocess.Popen[str]]:
    """Have another process put and get blocks until the end."""
    arguments = [sys.executable, "-c", FILLS, str(folder), str(MOST), str(seed)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            yield process
        finally:
            process.kill()


@contextmanager
def standstill(folder: Path) -> Iterator[None]:
    """Let nobody write for the length of a block."""
    with open(folder / "bytes", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_a_block_comes_back_as_it_was_put(tmp_path: Path) -> None:
    """In any object for the folder; others of the file are not there."""
    content = os.urandom(2 * BLOCK_BYTES + 10)
    DiskBlocks(str(tmp_path / "c"), 2**30).put(key(1), blocks_in(content, 0, len(content)))
    again = DiskBlocks(str(tmp_path / "c"), 2**30)
    found = [again.get(key(1), number) for number in (2, 1, 0)]

    assert b"".join(each.content for each in found if each) == content
    assert again.get(key(1), 3) is None
    assert again.get(key(2), 0) is None


@settings(max_examples=30, deadline=None)
@given(
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.integers(1, 8)), max_size=40),
    most=st.integers(0, MOST),
)
def test_there_are_never_more_bytes_than_may_be(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[bool, int, int]], most: int
) -> None:
    """Whatever is put, read and forgotten; what comes back is what was put."""
    folder = tmp_path_factory.mktemp("blocks")
    blocks = DiskBlocks(str(folder), most)
    for is_put, first, count in steps:
        for number in range(first, first + count):
            if is_put:
                blocks.put(key(number), [block(number)])
            elif number % 3:
                found = blocks.get(key(number), 0)
                assert found is None or found == block(number)
            else:
                blocks.forget(key(number), 0)
            assert taken(folder) <= most


def test_what_was_read_last_stays(tmp_path: Path) -> None:
    """Room is made of the others, a tenth more than is needed."""
    blocks = DiskBlocks(str(tmp_path), MOST)
    for number in range(20):
        assert blocks.put(key(number), [block(number)])
        os.utime(blocks._path(key(number), 0), ns=(number, number))
    assert blocks.get(key(0), 0) == block(0)
    assert blocks.put(key(20), [block(20)])

    assert [number for number in range(21) if blocks.get(key(number), 0)] == [0, *range(4, 21)]


@pytest.mark.parametrize("how", ["a byte", "cut", "longer", "empty", "of another file", "a folder"])
def test_a_damaged_block_is_no_block(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It goes, and its place can be filled again."""
    blocks = DiskBlocks(str(tmp_path), MOST)
    blocks.put(key(1), [block(1)])
    blocks.put(key(2), [block(2)])
    path = Path(blocks._path(key(1), 0))
    sealed = path.read_bytes()
    random_place = random.Random(how).randrange(len(sealed))
    flipped = bytes(
        byte ^ 4 if place == random_place else byte for place, byte in enumerate(sealed)
    )
    damaged = {
        "a byte": flipped,
        "cut": sealed[:-1],
        "longer": sealed + b"x",
        "empty": b"",
        "of another file": Path(blocks._path(key(2), 0)).read_bytes(),
    }
    path.unlink()
    if how == "a folder":
        path.mkdir()
    else:
        path.write_bytes(damaged[how])

    assert blocks.get(key(1), 0) is None
    if how != "a folder":
        assert "damaged" in caplog.text
        assert blocks.put(key(1), [block(1)])
        assert blocks.get(key(1), 0) == block(1)


def test_every_flipped_bit_of_a_block_is_noticed(tmp_path: Path) -> None:
    """Of its head and of its content."""
    blocks = DiskBlocks(str(tmp_path), MOST)
    blocks.put(key(1), [block(1)])
    path = Path(blocks._path(key(1), 0))
    sealed = path.read_bytes()
    for place in (*range(HEAD_BYTES), HEAD_BYTES, len(sealed) - 1):
        path.write_bytes(sealed[:place] + bytes([sealed[place] ^ 1]) + sealed[place + 1 :])
        assert blocks.get(key(1), 0) is None, place


def test_processes_share_a_folder_and_its_bound(tmp_path: Path) -> None:
    """Two fill it while it is looked at: no more bytes than may be, and no wrong block."""
    blocks = DiskBlocks(str(tmp_path), MOST)
    with filling(tmp_path, 1) as one, filling(tmp_path, 2) as other:
        for _ in range(20):
            with standstill(tmp_path):
                assert taken(tmp_path) <= MOST
            for number in range(50):
                found = blocks.get(key(number), 0)
                assert found is None or found == block(number)
        assert one.poll() is None
        assert other.poll() is None
    assert any(blocks.get(key(number), 0) for number in range(50))


def test_a_process_killed_while_it_fills_leaves_a_good_folder(tmp_path: Path) -> None:
    """The lock goes with it, half a file is nobody's, and the bound holds after all."""
    dice = random.Random(5)
    blocks = DiskBlocks(str(tmp_path), MOST)
    for seed in range(5):
        with filling(tmp_path, seed) as process:
            time.sleep(0.02 + dice.random() / 20)
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert taken(tmp_path) <= MOST
    (tmp_path / "00").mkdir(exist_ok=True)
    left = tmp_path / "00" / f"{key(1).hex()}-0.new"
    left.write_bytes(b"x" * 500)
    for number in range(60):
        assert blocks.put(key(number), [block(number)])
        assert blocks.get(key(number), 0) == block(number)

    assert not left.exists()
    assert taken(tmp_path) <= MOST


def test_bytes_that_were_counted_wrongly_are_counted_anew(tmp_path: Path) -> None:
    """As after a machine that went down before the count was on its disk."""
    blocks = DiskBlocks(str(tmp_path), MOST)
    for number in range(10):
        blocks.put(key(number), [block(number)])
    for wrong in (b"", b"\0" * 32, b"many", str(MOST).encode()):
        (tmp_path / "bytes").write_bytes(wrong)
        assert blocks.put(key(99), [block(99)])
        blocks.forget(key(99), 0)

    assert all(blocks.get(key(number), 0) for number in range(10))


def test_who_does_not_get_the_lock_does_not_wait(tmp_path: Path) -> None:
    """The block is fetched again one day; what is there is read meanwhile."""
    blocks = DiskBlocks(str(tmp_path), MOST)
    blocks.put(key(1), [block(1)])
    with standstill(tmp_path):
        began = time.monotonic()
        assert not blocks.put(key(2), [block(2)])
        assert time.monotonic() - began < 5
        assert blocks.get(key(1), 0) == block(1)


@pytest.mark.parametrize("what", ["a file", "others may write", "a full disk"])
def test_a_folder_that_cannot_be_used_is_told_of_once(
    tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing else happens."""
    folder = tmp_path / "c"
    if what == "a file":
        folder.write_text("")
    elif what == "others may write":
        folder.mkdir()
        folder.chmod(0o777)
    else:

        def full(path: str, content: bytes) -> None:
            raise OSError(28, "No space left on device", path)

        monkeypatch.setattr(disk_blocks, "_write", full)
    blocks = DiskBlocks(str(folder), MOST)
    with caplog.at_level(logging.WARNING):
        for number in range(3):
            assert not blocks.put(key(number), [block(number)])
            assert blocks.get(key(number), 0) is None

    puts = [each for each in caplog.messages if "reads go on without it" in each]
    assert len(puts) == 1
    assert repr(str(folder)) in puts[0]
