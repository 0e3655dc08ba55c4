"""Deletion vectors: other readers find the same rows, and damage is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile

from arctic.errors import FormatError
from arctic.iceberg.metadata.version_three import BlobPlace
from arctic.iceberg.publishing.vector_files import blob_rows, vector_blob, vector_rows
from arctic.iceberg.storage.puffin import puffin_file
from arctic.iceberg.storage.table_io import TableIO


@given(
    st.sets(
        st.one_of(
            st.integers(0, 200),
            st.integers(60_000, 70_000),
            st.integers(2**32 - 5, 2**32 + 5),
            st.integers(0, 2**32 + 5),
        ),
        max_size=60,
    )
)
def test_rows_come_back_as_they_were(numbers: set[int]) -> None:
    """Also those beyond what one bitmap holds; PyIceberg finds the same."""
    rows = np.array(sorted(numbers | {0}), np.int64)  # PyIceberg has no type for no rows
    blob = vector_blob(rows)
    about = {"referenced-data-file": "a.parquet"}
    content = puffin_file(
        {"deletion-vector-v1": blob}, snapshot_id=-1, sequence_number=-1, properties=about
    ).content

    assert blob_rows(blob).tolist() == rows.tolist()
    (read,) = deletion_vectors_from_puffin_file(PuffinFile(content))
    assert read.referenced_data_file == "a.parquet"
    assert [each for chunk in read.to_vector().chunks for each in chunk.to_pylist()] == list(rows)


def test_a_blob_is_laid_out_as_the_spec_says() -> None:
    """Length, magic, count, upper bits, bitmap, checksum."""
    blob = vector_blob(np.array([3, 5]))

    assert blob[:4] == (len(blob) - 8).to_bytes(4, "big")
    assert blob[4:20] == bytes.fromhex("d1d33964" + "0100000000000000" + "00000000")


@pytest.mark.parametrize("at", [0, 5, 12, 25, -1])
def test_a_damaged_vector_is_refused(tmp_path: Path, at: int) -> None:
    """With the name of its file: rows would come back."""
    content = bytearray(b"PFA1" + vector_blob(np.arange(7)))
    place = BlobPlace(offset=4, length=len(content) - 4)
    content[4 + at if at >= 0 else at] ^= 0x10
    path = tmp_path / "x-vector.puffin"
    path.write_bytes(content)

    with pytest.raises(FormatError, match=r"x-vector\.puffin"):
        vector_rows(TableIO(properties={}, location=str(tmp_path)), str(path), place)
