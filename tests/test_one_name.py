"""A text where a list of names is meant is one name, not its letters."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import arctic

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("ts", pa.timestamp("us"))])
ROWS = pa.table({"id": [1], "city": ["Rome"], "ts": pa.array([0], pa.timestamp("us"))}, SCHEMA)


def test_every_list_of_names_may_be_one_name(tmp_path: Path) -> None:
    """At creation, in reads of rows and changes, in a plan, and where columns are dropped."""
    table = arctic.create_table(
        "shop.users", SCHEMA, primary_key="id", partition_by="day(ts)", warehouse=str(tmp_path)
    )
    table.write(ROWS, mode="upsert")

    assert (table.primary_key, table.partition_by) == (("id",), ("day(ts)",))
    assert table.read(columns="city").read_all().to_pylist() == [{"city": "Rome"}]
    assert table.read_changes(columns="id").read_all().to_pylist() == [{"id": 1}]
    assert table.explain(columns="city") == table.explain(columns=["city"])
    assert table.evolve_schema(drop="city").schema.names == ["id", "ts"]
