"""What a refresh works on, beyond what small views show."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

import pyarrow as pa
import pytest

from arctic.errors import ConflictError
from arctic.job.read.scan_job import ScanJob
from arctic.job.views.workspace import GIVEN, workspace
from arctic.views.view_statements import FRESH, STORED, difference

ROWS = 5_000_000
"""Of four million DuckDB was seen to wait for itself, of three it was not."""


@pytest.mark.slow
def test_the_difference_of_large_views_is_told_to_its_end() -> None:
    """However many rows come before the part of those that are gone."""
    found: list[int] = []

    def look() -> None:
        with workspace() as space:
            space.expect(ROWS)
            made = "i * 2 AS id, hash(i) % 200000 AS of, (i % 1000) * 2.5::DOUBLE AS v"
            space.make(FRESH, f"SELECT {made} FROM range({ROWS}) t(i)")
            space.make(STORED, f"SELECT id, of, v + CAST(id % 200 = 0 AS INT) AS v FROM {FRESH}")
            rows = space.batches(space.held(difference(["id", "of", "v"], ["id"])))
            found.extend(len(batch) for batch in rows)

    worker = Thread(target=look, daemon=True)
    worker.start()
    worker.join(120)

    assert not worker.is_alive()
    assert sum(found) == ROWS // 100


class Gone:
    """Reads of what has expired meanwhile."""

    def read(self, group: int) -> Iterator[pa.RecordBatch]:
        """Yield some rows, and no more."""
        yield pa.record_batch({"id": [group]})
        raise ConflictError("the state expired")


def test_what_a_read_fails_with_is_told_as_it_is() -> None:
    """Whatever its rows are put to: DuckDB only says that a statement failed."""
    schema = pa.schema([("id", pa.int64())])
    job = ScanJob(
        schema=schema,
        groups=(1,),
        reader=Gone(),
        plan=None,
        settings=None,
        why_gone=lambda _: None,
    )
    with workspace() as space:
        with pytest.raises(ConflictError, match=r"^the state expired$"):
            space.load("rows", job)
        with pytest.raises(ConflictError, match=r"^the state expired$"):
            space.make_from("sums", job, f"SELECT sum(id) FROM {GIVEN}")
