"""What a refresh works on, beyond what small views show."""

from __future__ import annotations

from threading import Thread

import pytest

from arctic.job.views.workspace import workspace
from arctic.views.view_statements import FRESH, STORED, difference

ROWS = 5_000_000
"""Of four million DuckDB was seen to wait for itself, of three it was not."""


@pytest.mark.slow
def test_the_difference_of_large_views_is_told_to_its_end() -> None:
    """However many rows come before the part of those that are gone."""
    found: list[int] = []

    def look() -> None:
        with workspace() as space:
            made = "i * 2 AS id, hash(i) % 200000 AS of, (i % 1000) * 2.5::DOUBLE AS v"
            space.make(FRESH, f"SELECT {made} FROM range({ROWS}) t(i)")
            space.make(STORED, f"SELECT id, of, v + CAST(id % 200 = 0 AS INT) AS v FROM {FRESH}")
            rows = space.batches(difference(["id", "of", "v"], ["id"], "action"))
            found.extend(len(batch) for batch in rows)

    worker = Thread(target=look, daemon=True)
    worker.start()
    worker.join(120)

    assert not worker.is_alive()
    assert sum(found) == ROWS // 100
