"""Filters of queries over the extremes of every type, in files that Spark and Arctic read."""

from __future__ import annotations

from functools import reduce

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.spark.lake import Lake

pytestmark = pytest.mark.spark

ROWS = """
    (0, -2147483648, -9223372036854775808, float('-inf'), 'a', date'-2000-01-01',
        timestamp'-2000-01-01 00:00:00'),
    (1, -2147483647, -1, float('nan'), 'a_', date'0001-01-01', timestamp'0001-01-01 00:00:00'),
    (2, 0, 0, float('-0.0'), 'ab', date'1970-01-01', timestamp'1970-01-01 00:00:00'),
    (3, 9, 1, float('0.0'), '', date'9999-12-31', timestamp'9999-12-31 23:59:59'),
    (4, 2147483647, 9223372036854775807, float('inf'), 'a%', date'+10000-01-01',
        timestamp'+10000-01-02 00:00:00'),
    (5, null, null, null, null, null, null),
    (6, 1, 2, float('3.4e38'), 'abc', date'+200000-06-01', timestamp'+200000-06-01 12:00:00')
"""
CHAIN = " or ".join(f"n = {number} and l > -{number}" for number in range(1, 70))
FILTERS = {
    "n < 3 and n <> 0": [0, 1, 6],
    "l >= 9223372036854775807 or l = -9223372036854775808": [0, 4],
    "f >= 1e39 and not isnan(f)": [4],
    "s like 'a_' and not f < double('-inf')": [1, 2, 4],
    "day > date'9999-12-31' and at >= timestamp'+10000-01-01 00:00:00'": [4, 6],
    "day < date'0001-01-01' or day is null": [0, 5],
    CHAIN: [3, 6],
}


def test_queries_find_the_extremes(lake: Lake) -> None:
    """Hints or not, over a partition of a wrapped number, years beyond 9999, and a long chain."""
    rows = lake.spark.sql(f"select * from values {ROWS} as t(id, n, l, f, s, day, at)")
    rows = rows.withColumn("id", F.col("id").cast("long"))
    lake.save(rows, "upsert", primaryKey="id", partitionBy="truncate(10, n)")
    table = lake.load()

    queries = [table.where(each).select(F.lit(each[:80]), "id") for each in FILTERS]
    # One job for all of them costs less than a job for each.
    found = reduce(DataFrame.unionAll, queries).collect()

    wanted = [(each[:80], number) for each, ids in FILTERS.items() for number in ids]
    assert sorted(map(tuple, found)) == sorted(wanted)
