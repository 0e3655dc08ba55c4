"""What pyarrow's writer is told of indexed columns, and of keys that are looked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arctic.writing.files import bloom_filters
from arctic.writing.files.bloom_filters import KEY_SHARE, bloom_options


class OldWriter:
    """A writer of a pyarrow that knows no filters."""

    def __init__(self, where: Any, schema: pa.Schema) -> None:
        """Take what it has always taken."""


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    """What is known of this pyarrow is forgotten, before and after."""
    for known in (bloom_filters.can_write_blooms, bloom_filters._warn_once):
        known.cache_clear()
    yield
    for known in (bloom_filters.can_write_blooms, bloom_filters._warn_once):
        known.cache_clear()


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
    assert bloom_options(rows, {}, ["a"]) == {}


def test_a_key_has_a_filter_where_its_values_tell_rows_apart() -> None:
    """Of a key of several columns those that do; a share that the table states comes first."""
    count = 10_000
    rows = pa.table(
        {
            "tenant": pa.array(np.arange(count) % 10),
            "id": pa.array(np.arange(count)[::-1]),
            "text": pa.array([str(each) for each in range(count)]),
            "price": pa.array(np.arange(count) / 7),
        }
    )
    sized = {"ndv": count, "fpp": KEY_SHARE}

    found = bloom_options(rows, {}, ["tenant", "id", "text", "price"])
    assert found == {"bloom_filter_options": {"id": sized, "text": sized}}
    assert bloom_options(rows, {}, ["tenant"]) == {}
    assert bloom_options(rows, {"id": 0.5}, ["id"]) == {
        "bloom_filter_options": {"id": {"ndv": count, "fpp": 0.5}}
    }
