"""Ends of large files that lie far away, kept by what reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arctic.errors import FormatError
from arctic.mor.files.kept_footers import LEAST_BYTES, KeptFooters
from arctic.mor.files.parquet_footer import Size, checked_end, metadata_in

FAR = "s3://lake/t/data/4-B-1-00000-0-2889679053109490213-00001.parquet"
ROWS = 150_000


class Counted(pa.PythonFile):  # type: ignore[misc]
    """A file that counts what it is asked for."""

    def __new__(cls, content: bytes) -> Counted:
        """Count nothing yet."""
        source = pa.BufferReader(content)
        made: Counted = super().__new__(cls, source, mode="r")
        made.source, made.asked = source, 0
        return made

    def __init__(self, content: bytes) -> None:
        """Do nothing: it was made."""

    def read_at(self, size: int, offset: int) -> Any:
        """Read, and count it."""
        self.asked += 1
        return self.source.read_at(size, offset)


@pytest.fixture(scope="module")
def content() -> bytes:
    """Return a file of more than ``LEAST_BYTES``."""
    sink = pa.BufferOutputStream()
    drawn = np.random.default_rng(1).integers(0, 2**62, ROWS)
    pq.write_table(pa.table({"a": drawn}), sink, compression="none", row_group_size=ROWS // 50)
    found = bytes(sink.getvalue())
    assert len(found) > LEAST_BYTES
    return found


def expected(content: bytes) -> Size:
    """Return what a manifest says of it."""
    return Size(len(content), ROWS)


def test_the_end_of_a_far_file_is_read_once(content: bytes) -> None:
    """The second reader has the same footer and metadata, and asks for nothing."""
    kept, first, second = KeptFooters(), Counted(content), Counted(content)
    plain = checked_end(FAR, pa.BufferReader(content), expected(content))

    for source in (first, second):
        end, metadata = kept.of(FAR, source, expected(content))
        assert end.footer == plain.footer
        assert metadata.equals(metadata_in(plain.footer))

    assert (first.asked, second.asked) == (1, 0)
    assert len(plain.footer) < kept.nbytes < len(plain.content)


@pytest.mark.parametrize(
    "path",
    [
        "/lake/4-B-1-00000-0-2889679053109490213-00001.parquet",
        "file:" + FAR[3:],
        "s3://lake/a.parquet",
    ],
)
def test_of_other_files_nothing_is_kept(path: str, content: bytes) -> None:
    """Those of this machine may be damaged later, those of any name be written again."""
    kept = KeptFooters()
    for _ in range(2):
        source = Counted(content)
        kept.of(path, source, expected(content))
        assert source.asked == 1
    assert kept.nbytes == 0


def test_a_short_file_is_not_kept(content: bytes) -> None:
    """It comes whole when it is opened."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": range(10)}), sink)
    kept = KeptFooters()
    kept.of(FAR, Counted(sink.getvalue().to_pybytes()), None)
    assert kept.nbytes == 0


def test_what_is_kept_never_hides_a_wrong_length(content: bytes) -> None:
    """A manifest that lies is told so, and a file of another length has its own end read."""
    kept = KeptFooters()
    kept.of(FAR, Counted(content), expected(content))
    with pytest.raises(pa.ArrowInvalid, match="by its manifest"):
        kept.of(FAR, Counted(content), Size(len(content) + 1, ROWS))
    with pytest.raises(pa.ArrowInvalid):
        kept.of(FAR, Counted(content[:-4]), None)


def test_damage_is_not_kept(content: bytes) -> None:
    """What came damaged once may come whole the next time."""
    kept = KeptFooters()
    damaged = content[:-6] + b"\xff\xff" + content[-4:]
    with pytest.raises((pa.ArrowInvalid, FormatError)):
        kept.of(FAR, Counted(damaged), expected(content))
    end, _ = kept.of(FAR, Counted(content), expected(content))
    assert end.content.endswith(content[-8:])


def test_a_file_that_made_no_sense_is_read_anew(content: bytes) -> None:
    """Once it was dropped."""
    kept = KeptFooters()
    kept.of(FAR, Counted(content), None)
    kept.drop(FAR)
    source = Counted(content)
    kept.of(FAR, source, None)
    assert source.asked == 1


def test_memory_is_bounded(content: bytes) -> None:
    """Files that were used the longest time ago are forgotten first."""
    one = KeptFooters()
    one.of(FAR, Counted(content), None)
    kept = KeptFooters(most_bytes=3 * one.nbytes)
    names = [FAR.replace("4-B", f"{number}-B") for number in range(4, 9)]
    for name in names:
        kept.of(name, Counted(content), None)
    assert kept.nbytes == 3 * one.nbytes
    source = Counted(content)
    kept.of(names[-1], source, None)
    assert source.asked == 0
