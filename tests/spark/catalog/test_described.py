"""A table as Spark is told of it, without a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.spark.catalog.described import described


@pytest.mark.parametrize(
    ("name", "columns"),
    [(("shop", "orders"), ["id", "v"]), (("shop", "orders", "refs"), ["store", "name"])],
)
def test_a_table_is_opened_once_to_be_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: tuple[str, ...], columns: list[str]
) -> None:
    """Every query asks for it, once for each table; so are metadata tables."""
    warehouse = str(tmp_path)
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int64())])
    arctic.create_table("shop.orders", schema, primary_key=["id"], warehouse=warehouse)
    opened = []

    def counted(*asked: Any, **how: Any) -> OpenTable:
        opened.append(asked)
        return open_table(*asked, **how)

    monkeypatch.setattr("arctic.job.reference.open_table", counted)

    answer = described({"warehouse": warehouse}, name)

    assert len(opened) == 1
    assert [field["name"] for field in answer.schema["fields"]][:2] == columns
