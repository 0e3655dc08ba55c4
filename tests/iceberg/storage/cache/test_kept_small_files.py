"""Small files that are far away, kept by the process that has read them."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pytest

from arctic.iceberg.storage.cache.kept_small_files import SMALL_BYTES, KeptSmallFiles

FAR = "s3://lake/t/data/4-B-1-00000-0-2889679053109490213-00001.parquet"


class Access:
    """A FileIO over some files, all of which come whole."""

    def __init__(self, made: Any = io.BytesIO, **properties: str) -> None:
        self.properties = properties
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self._made = made

    def new_input(self, path: str) -> Any:
        """Return what opens a file."""
        self.asked.append(path)
        content = self._made(self.files[path])

        class Input:
            def open(self) -> Any:
                return content

        return Input()


@pytest.mark.parametrize("made", [io.BytesIO, pa.BufferReader])
@pytest.mark.parametrize("size", [0, 1, SMALL_BYTES, SMALL_BYTES + 1, 2**20])
def test_a_small_file_is_asked_for_once(size: int, made: Any) -> None:
    """Whichever library brings it; a longer one as often as it is opened, from its beginning."""
    access, kept = Access(made), KeptSmallFiles()
    access.files[FAR] = b"x" * size
    for _ in range(3):
        assert bytes(kept.opened(access, FAR).read()) == b"x" * size  # type: ignore[arg-type]
    assert len(access.asked) == (1 if size <= SMALL_BYTES else 3)


@pytest.mark.parametrize(
    "path", ["/lake/" + FAR.rpartition("/")[2], "file:" + FAR[3:], "s3://lake/a.parquet"]
)
def test_of_other_files_nothing_is_kept(path: str) -> None:
    """Those of this machine cost nothing to read, those of any name may be written again."""
    access, kept = Access(), KeptSmallFiles()
    for content in (b"old", b"new"):
        access.files[path] = content
        assert kept.opened(access, path).read() == content  # type: ignore[arg-type]
    assert kept.nbytes == 0


def test_another_access_is_given_nothing() -> None:
    """It may have other keys, and not be allowed to read the file."""
    kept, one, other = KeptSmallFiles(), Access(), Access(key="other")
    one.files[FAR] = b"secret"
    kept.opened(one, FAR)  # type: ignore[arg-type]
    with pytest.raises(KeyError):
        kept.opened(other, FAR)  # type: ignore[arg-type]


def test_a_file_that_makes_no_sense_is_fetched_anew() -> None:
    """Once whoever has read it says so."""
    access, kept = Access(), KeptSmallFiles()
    access.files[FAR] = b"damaged"
    kept.opened(access, FAR).forget()  # type: ignore[arg-type]
    access.files[FAR] = b"whole"
    assert kept.opened(access, FAR).read() == b"whole"  # type: ignore[arg-type]
    assert kept.nbytes > 0


def test_memory_is_bounded() -> None:
    """Files that were read the longest time ago are forgotten first."""
    access, kept = Access(), KeptSmallFiles(most_bytes=3 * SMALL_BYTES)
    paths = [FAR.replace("4-B", f"{number}-B") for number in range(10)]
    for path in paths:
        access.files[path] = b"x" * (SMALL_BYTES - 1_000)
        kept.opened(access, path)  # type: ignore[arg-type]
        assert kept.nbytes <= 3 * SMALL_BYTES
    access.asked.clear()
    for path in reversed(paths):
        kept.opened(access, path)  # type: ignore[arg-type]
    assert access.asked == paths[6::-1]
