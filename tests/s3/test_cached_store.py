"""Tables in an object store that are read through a cache: the store is asked once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from benchmarks.requests.object_store import ObjectStore


def data_requests(server: ObjectStore) -> int:
    """Return how often data files were asked for since this was called last."""
    return sum(each.path.endswith(".parquet") for each in server.asked())


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_the_store_is_asked_for_each_data_file_once(
    server: ObjectStore, library: Mapping[str, str], tmp_path: Path, place: str
) -> None:
    """Small files and one that is longer than what comes whole, merged; a point lookup too."""
    catalog = server.catalog(tmp_path / "c.db", folder=f"{tmp_path.name}-{place}", **library)
    schema = pa.schema([("id", pa.int64()), ("note", pa.string())])
    table = arctic.create_table("shop.notes", schema, primary_key=["id"], catalog=catalog)
    notes = [
        f"{each * 7919 % 1_000_003:09} {each * 104_729 % 999_983}" * 3 for each in range(90_000)
    ]
    table.write(pa.table({"id": range(90_000), "note": notes}, schema=schema), mode="upsert")
    table.optimize(type="full")
    table.write(pa.table({"id": [1], "note": ["x"]}, schema=schema), mode="upsert")
    plain = table.read().read_all().sort_by("id")
    cached = {"read.cache": place, "read.cache.path": str(tmp_path / "kept")}
    data_requests(server)

    assert table.read(options=cached).read_all().sort_by("id") == plain
    assert data_requests(server) > 0
    assert table.read(options=cached).read_all().sort_by("id") == plain
    assert table.read(filter="id = 1", options=cached).read_all()["note"].to_pylist() == ["x"]
    assert data_requests(server) == 0
