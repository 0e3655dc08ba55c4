"""Counts what each verb asks an object store for: ``make bench-requests``."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping

from benchmarks.requests.object_store import object_store
from benchmarks.requests.page import PAGE, page_with, table
from benchmarks.requests.verbs import Cost, Life

LIBRARIES = {"Arrow": {}, "s3fs": {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}}


def measured(more: Mapping[str, str]) -> list[Cost]:
    """Live the life of a table through one library."""
    with tempfile.TemporaryDirectory() as folder, object_store() as store:
        return list(Life(store, store.catalog(f"{folder}/catalog.db", **more)).costs())


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
                    name, cost.verb, *(f"  {kind:8} {path}" for kind, path in cost.asked), sep="\n"
                )
    page = page_with(PAGE.read_text(encoding="utf-8"), costs)
    if arguments.write_docs:
        PAGE.write_text(page, encoding="utf-8")
    print(*table(costs), sep="\n")


if __name__ == "__main__":
    main()
