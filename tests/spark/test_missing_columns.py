"""Frames and streams that lack columns of their table."""

from __future__ import annotations

import pytest

import arctic
from tests.spark.lake import Lake
from tests.spark.stream_input import Source

pytestmark = pytest.mark.spark

KEEP = {"missing-columns": "keep"}
ROWS = [(number, "eu", float(number)) for number in range(40)]


@pytest.mark.parametrize("partition_by", [(), ("region",)], ids=["one place", "moves"])
def test_a_save_keeps_what_its_frame_lacks(lake: Lake, partition_by: tuple[str, ...]) -> None:
    """Of rows in base and in the change store, whatever task they come to."""
    table = lake.create(partition_by=partition_by)
    lake.put(ROWS[:30])
    table.optimize(type="full")
    lake.put(ROWS[20:])
    frame = lake.frame([(number, -1.0) for number in range(0, 50, 2)], "id long, amount double")
    with pytest.raises(arctic.InvalidInputError, match="lacks region"):
        lake.save(frame, "upsert")
    lake.save(frame.repartition(3), "upsert", **KEEP)

    changed = [(number, "eu" if number < 40 else None, -1.0) for number in range(0, 50, 2)]
    assert lake.rows() == sorted([*changed, *ROWS[1::2]])


def test_a_stream_keeps_what_its_rows_lack(lake: Lake, source: Source) -> None:
    """Batch by batch, and also a batch that comes again; without the option it does not start."""
    lake.create()
    lake.put(ROWS[:2])
    source.put((0, "", 10.0), (7, "", 7.0))
    source.put((0, "", 11.0), (1, "", 11.0))
    frame = source.frame().drop("region")
    with pytest.raises(arctic.InvalidInputError, match="lacks region"):
        source.drain(lake, frame, **{"write-mode": "upsert"})
    source.drain(lake, frame, **{"write-mode": "upsert"}, **KEEP)
    source.forget_last_commit()
    lake.put([(1, "us", 1.5)])
    source.drain(lake, frame, **{"write-mode": "upsert"}, **KEEP)

    assert lake.arrow_rows() == [(0, "eu", 11.0), (1, "us", 1.5), (7, None, 7.0)]
