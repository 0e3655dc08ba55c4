"""A cache beside a catalog over HTTP, with which each call has a session of its own."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import arctic
from tests.iceberg.catalogs.over_http.rest_server import rest_server

SCHEMA = pa.schema([("id", pa.int64())])


def test_what_one_read_has_kept_is_there_for_the_next(tmp_path: Path) -> None:
    """Not for somebody else, who comes with another token."""
    folder, cache = tmp_path / "catalog", tmp_path / "cache"
    folder.mkdir()
    options = {
        "read.cache": "disk",
        "read.cache.local-files": "true",
        "read.cache.path": str(cache),
    }
    with rest_server(folder) as server:
        catalog = server.properties
        arctic.create_table("db.t", SCHEMA, primary_key=[], catalog=catalog)
        arctic.write("db.t", pa.table({"id": [1]}, SCHEMA), mode="append", catalog=catalog)
        kept = []
        for token in ("mine", "mine", "mine", "other"):
            asker = {**catalog, "token": token}
            arctic.read("db.t", options=options, catalog=asker).read_all()
            kept.append(len(list(cache.glob("v1/*/*-*"))))

    assert kept[0] > 0
    assert kept == [kept[0], kept[0], kept[0], 2 * kept[0]]
