"""What pyarrow's writer is told of indexed columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arctic.writing.files.parquet_output import bloom_options, can_write_blooms


class OldWriter:
    """A writer of a pyarrow that knows no filters."""

    def __init__(self, where: Any, schema: pa.Schema) -> None:
        """Take what it has always taken."""


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    """What is known of this pyarrow is forgotten, before and after."""
    can_write_blooms.cache_clear()
    yield
    can_write_blooms.cache_clear()


def test_filters_are_as_large_as_the_first_row_group_needs() -> None:
    """Columns that the file does not have are none of its concern."""
    rows = pa.table({"a": [1, 1, None], "b": ["x", "y", "z"]})

    assert bloom_options(rows, {"b": 0.1, "a": 0.01, "c": 0.5}) == {
        "bloom_filter_options": {"a": {"ndv": 1, "fpp": 0.01}, "b": {"ndv": 3, "fpp": 0.1}}
    }
    assert bloom_options(rows, {"c": 0.5}) == {}


def test_a_pyarrow_without_filters_is_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are found without them, so the write goes on."""
    monkeypatch.setattr(pq, "ParquetWriter", OldWriter)
    rows = pa.table({"a": [1]})

    with pytest.warns(UserWarning, match="indexed columns have no bloom filters in new files"):
        assert bloom_options(rows, {"a": 0.1}) == {}
    assert bloom_options(rows, {"a": 0.1}) == {}
    assert bloom_options(rows, {}) == {}
