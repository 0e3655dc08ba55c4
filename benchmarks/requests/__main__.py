"""Counts what each verb asks an object store for: ``make bench-requests``."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.requests.far import Trip, trips
from benchmarks.requests.object_store import object_store
from benchmarks.requests.page import (
    PAGE,
    beside_table,
    far_table,
    page_with,
    page_with_far,
    page_with_plain,
    table,
)
from benchmarks.requests.plain import Counts, plain_counts
from benchmarks.requests.verbs import Cost, Life

LIBRARIES = {"Arrow": {}, "s3fs": {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}}

DELAY_MS = 50


def measured(more: Mapping[str, str]) -> list[Cost]:
    """Live the life of a table through one library."""
    with tempfile.TemporaryDirectory() as folder, object_store() as store:
        return list(Life(store, store.catalog(f"{folder}/catalog.db", **more)).costs())


def of_plain() -> list[Counts]:
    """Begin the same life with a plain table of PyIceberg's."""
    with tempfile.TemporaryDirectory() as folder, object_store() as store:
        return plain_counts(store, store.catalog(f"{folder}/catalog.db"))


def from_far(more: Mapping[str, str]) -> list[Trip]:
    """Read, write and plan from far away, through one library."""
    with tempfile.TemporaryDirectory() as folder, object_store() as store:
        return trips(store, Path(folder), more, delay_ms=DELAY_MS)


def main() -> None:
    """Print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verbose", action="store_true", help="print every request")
    parser.add_argument("--write-docs", action="store_true", help="put the table into the page")
    arguments = parser.parse_args()
    costs = {name: measured(more) for name, more in LIBRARIES.items()}
    if arguments.verbose:
        for name, life in costs.items():
            for cost in life:
                print(
                    name,
                    cost.verb,
                    *(f"  {each.kind:8} {each.path}" for each in cost.asked),
                    sep="\n",
                )
    plain = of_plain()
    far = {name: from_far(more) for name, more in LIBRARIES.items()}
    if arguments.write_docs:
        page = page_with_far(page_with(PAGE.read_text(encoding="utf-8"), costs), far)
        page = page_with_plain(page, costs["Arrow"], plain)
        PAGE.write_text(page, encoding="utf-8")
    print(*table(costs), "", *beside_table(costs["Arrow"], plain), "", *far_table(far), sep="\n")


if __name__ == "__main__":
    main()
