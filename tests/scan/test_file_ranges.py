"""Key ranges of files, of which so many are kept and no more."""

from __future__ import annotations

import pytest

from arctic.scan import reach as module
from arctic.scan.reach import FileRanges
from arctic.table.files import FileKind
from arctic.tree.key_range import KeyRange
from tests.factories.files import KEY_ID, table_file


def test_ranges_are_the_same_however_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are not are worked out again."""
    monkeypatch.setattr(module, "_MOST_RANGES", 3)
    ranges = FileRanges([KEY_ID])
    files = [table_file(str(at), FileKind.BASE, keys=(at, at + 1)) for at in range(7)]

    for file in [*files, *reversed(files), *files]:
        assert ranges.of(file) == KeyRange.of(file.bounds, [KEY_ID])
        assert len(ranges._by_path) <= 3
