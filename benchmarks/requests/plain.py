"""The same rows in a plain table of PyIceberg's, and what that asks the store for.

It runs in processes of its own, which import nothing of Arctic, so that nothing of it is ours. Each
part is one, so it comes new to the table.

Rules:
    - The rows are those of ``verbs.Life`` up to its first read, and compared as there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import load_catalog

from benchmarks.requests.object_store import ObjectStore

NAME = "shop.users"
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string())])
PARTS = ("write", "upsert", "read")
UPSERTS = ((range(40), "Rome"), (range(10, 50), "Oslo"), (range(20, 60), "Bern"))

Counts = tuple[str, Counter[str]]


def plain_counts(store: ObjectStore, catalog: Mapping[str, str]) -> list[Counts]:
    """Return what each verb asked for, in the order of ``Life``."""
    found: list[Counts] = []
    for part in PARTS:
        done = subprocess.run(
            [sys.executable, "-m", __name__, part, store.endpoint, json.dumps(dict(catalog))],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"PyIceberg failed: {done.stderr}")
        found += [(verb, Counter(counts)) for verb, counts in json.loads(done.stdout)]
    return found


def _verbs(part: str, catalog: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    if part == "write":
        catalog.create_namespace("shop")
        yield "create", lambda: catalog.create_table(NAME, SCHEMA)
        for keys, city in UPSERTS[:2]:
            yield "upsert", partial(_upsert, catalog, keys, city)
    elif part == "upsert":
        yield "upsert, new process", partial(_upsert, catalog, *UPSERTS[2])
    else:
        yield "read, new process", partial(_check, catalog)
        yield "read", partial(_check, catalog)


def _upsert(catalog: Any, keys: range, city: str) -> None:
    rows = pa.table({"id": list(keys), "city": [city] * len(keys)}, schema=SCHEMA)
    catalog.load_table(NAME).upsert(rows, ["id"])


def _check(catalog: Any) -> None:
    read = catalog.load_table(NAME).scan().to_arrow()
    rows = {key: city for keys, city in UPSERTS for key in keys}
    found = dict(zip(read["id"].to_pylist(), read["city"].to_pylist(), strict=True))
    if found != rows or read.num_rows != len(rows):
        raise AssertionError(f"{read.num_rows} rows are not the {len(rows)} expected")


def main(part: str, endpoint: str, properties: str) -> None:
    """Do one part; print its verbs and their counts."""
    store, counts = ObjectStore(endpoint=endpoint), []
    catalog = load_catalog("plain", **json.loads(properties))
    for verb, call in _verbs(part, catalog):
        store.asked()
        call()
        counts.append((verb, store.counts()))
    print(json.dumps(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
