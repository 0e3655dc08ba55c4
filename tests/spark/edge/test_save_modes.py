"""What is said twice of one save is refused, whichever way round."""

from __future__ import annotations

import pytest

from arctic.errors import InvalidInputError
from tests.spark.lake import NAME, Lake

pytestmark = pytest.mark.spark


def test_a_mode_that_an_option_contradicts_is_refused(lake: Lake) -> None:
    """In any case of letters the same is no contradiction; nothing is written else."""
    lake.create()
    frame = lake.frame([(1, "eu", 1.0)])
    with pytest.raises(InvalidInputError, match=r"option write-mode = 'append' with mode"):
        lake.save(frame, "upsert", **{"Write-Mode": "append"})
    lake.save(frame, "upsert", **{"write-mode": "UPSERT"})

    assert lake.rows() == [(1, "eu", 1.0)]


@pytest.mark.parametrize("option", ["partitionBy", "partition-by"])
def test_partitions_that_are_said_twice_are_refused(lake: Lake, option: str) -> None:
    """By a call of the builder, and by an option under either of its names."""
    writer = lake.frame([(1, "eu", 1.0)]).write.format("arctic").mode("append")
    writer.option("warehouse", lake.warehouse).option(option, "region").partitionBy("region")
    with pytest.raises(InvalidInputError, match=rf"option {option.lower()} = 'region' with"):
        writer.save(NAME)
