"""Which groups are few enough to be made by the tasks that read their rows."""

from __future__ import annotations

import pytest

from arctic.scan.worth_grouping import KeyChunk, are_few


@pytest.mark.parametrize(
    ("chunks", "few"),
    [
        ([("string", 96), ("string", 100)], True),
        ([("string", 20)], True),
        ([("boolean", None), ("date", 800)], True),
        ([("string", 200_000)], False),
        ([("long", None)], False),
        ([("string", 900), ("string", 900)], False),
    ],
)
def test_few_values_make_few_groups(chunks: list[tuple[str, int | None]], few: bool) -> None:
    """Told by the dictionaries; a column without one has values that do not repeat."""
    keys = [KeyChunk(type=kind, dictionary_bytes=size) for kind, size in chunks]

    assert are_few(keys, rows=65_536) == few


def test_groups_of_a_few_rows_each_are_many_where_they_lie_together() -> None:
    """Two thousand in a row group of ten thousand rows: the next one has two thousand others."""
    keys = [KeyChunk(type="long", dictionary_bytes=4_000)]

    assert not are_few(keys, rows=10_000)
    assert are_few(keys, rows=65_536)
