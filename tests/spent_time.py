"""Where the wall time of a run of the tests went, by folder and by file, in a few lines.

Processes that run side by side are added up. What several tests share, as a Spark session, counts
for the file that was the first to need it in its process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest

import pytest

SHORTEST_SECONDS = 60
"""Of a run that is worth telling of."""
LINES = 14


def spent_by_file(reports: Iterable[object]) -> Counter[str]:
    """Return the seconds of the tests of each file, what is made and taken down with them."""
    seconds: Counter[str] = Counter()
    for report in reports:
        if isinstance(report, pytest.TestReport):
            seconds[report.nodeid.partition("::")[0]] += report.duration  # type: ignore[assignment]
    return seconds


def told(by_file: Mapping[str, float]) -> Iterator[str]:
    """Return lines: the dearest folders on the left, the dearest files on the right."""
    by_folder: Counter[str] = Counter()
    for file, seconds in by_file.items():
        by_folder[file.rpartition("/")[0]] += seconds  # type: ignore[assignment]
    total = sum(by_file.values())
    sides = (_column(by_folder, total), _column(by_file, total))
    for left, right in zip_longest(*sides, fillvalue=""):
        yield f"{left:50}{right}".rstrip()


def _column(seconds: Mapping[str, float], total: float) -> list[str]:
    dearest = sorted(seconds.items(), key=lambda each: -each[1])[:LINES]
    return [f"{spent:5.0f} s {spent / total:4.0%} {name}" for name, spent in dearest]
