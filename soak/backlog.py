"""What readers of a soak's tables must merge, as it is over time."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import arctic
from arctic.errors import ConflictError
from soak.report import Reporter
from soak.workers import Place

SHARE, FILES = "unmerged share", "unmerged files"
_GROWTH = 1.5
_LEAST = 5
"""Measurements in a quarter."""
_FEW_FILES = 6.0
"""So few more in every table are no growth: a dozen wait before a run is due."""
_MOST_SHARE = 0.1
"""A dozen commits are a thirtieth of what a table has from its beginning."""
_LEAST_SHARES = 100
"""A minute of measurements: of a shorter life a service that is killed misses half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Changes that no run of optimizing has merged yet, of all tables together."""

    files: int
    bytes: int
    all_bytes: int
    """With those of base."""
    most_files: int
    """Of a single table."""
    due: tuple[str, ...]
    """Tables in which something is due."""

    @property
    def share(self) -> float:
        """Unmerged bytes, as a share of all."""
        return self.bytes / self.all_bytes if self.all_bytes else 0.0


def backlog_of(tables: Sequence[str], warehouse: str) -> Backlog:
    """Look at the tables, one after the other."""
    files = unmerged = everything = most = 0
    due = []
    for table in tables:
        status = arctic.status(table, warehouse=warehouse)
        parts = [each.health for each in status.partitions]
        here = sum(each.unmerged_files for each in parts)
        changes = sum(each.inserts.bytes + each.change_deletes.bytes for each in parts)
        files, most, unmerged = files + here, max(most, here), unmerged + changes
        everything += changes + sum(each.base.bytes for each in parts)
        if status.due is not None:
            due.append(table)
    return Backlog(
        files=files, bytes=unmerged, all_bytes=everything, most_files=most, due=tuple(due)
    )


def watch_backlog(place: Place, reporter: Reporter) -> None:
    """Measure it again and again."""
    while not place.is_over:
        try:
            found = backlog_of(place.tables, place.warehouse)
            reporter.measures = {SHARE: found.share, FILES: found.files / len(place.tables)}
            reporter.operations += 1
        except ConflictError as error:
            reporter.failed(error)
        reporter.tell()


def growth(files: Sequence[float]) -> str | None:
    """Say that a backlog grows without bound; None: it does not.

    The last quarter is compared with the second: the first is before the first runs. A few moments
    say nothing.

    >>> growth([0.0, 4.0, 9.0, 12.0, 10.0, 14.0, 11.0, 12.0]) is None
    True
    >>> growth([float(number) for number in range(80)])
    '69.5 unmerged files a table in the last quarter, 29.5 in the second'
    """
    quarter = len(files) // 4
    if quarter < _LEAST:
        return None
    early = statistics.mean(files[quarter : 2 * quarter])
    late = statistics.mean(files[-quarter:])
    if late <= early * _GROWTH + _FEW_FILES:
        return None
    return f"{late:.1f} unmerged files a table in the last quarter, {early:.1f} in the second"


def excess(shares: Sequence[float]) -> str | None:
    """Say that too much was not merged for most of the time; None: it was. As ``growth``.

    >>> excess([0.02, 0.05, 0.3, 0.02] * 25) is None
    True
    >>> excess([0.1, 0.2, 0.4, 0.5] * 25)
    '20.0% of all bytes unmerged in the median; expected under 10%'
    """
    if len(shares) < _LEAST_SHARES:
        return None
    median = statistics.median_low(shares)
    if median < _MOST_SHARE:
        return None
    return f"{median:.1%} of all bytes unmerged in the median; expected under {_MOST_SHARE:.0%}"
