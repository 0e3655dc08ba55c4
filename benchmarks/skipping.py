"""How little filters open, without Spark: ``make bench-skipping``.

The same rows in a table as it is by default, in one that is sorted by a column, and in two with a
Z-order or on a Hilbert curve of two columns and bloom filters of a third; all after a full. For
filters of the key, of either column and of the third: the files that are opened, the row groups of
which anything is read, and the time. And what it costs: bytes, and the processor time of writing
and of the full.

Beside it plain Iceberg tables of these rows, as ``rewrite_data_files`` of Spark sorts them, by the
column and by the Z-order, in files of the same size, planned and read by PyIceberg.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from pyiceberg.expressions.visitors import bind
from pyiceberg.io.pyarrow import expression_to_pyarrow
from pyiceberg.table import StaticTable

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from benchmarks.engines.rewriting import rewrite
from benchmarks.measure import Report, seconds

_CHUNK = 1_000_000
_LAYOUTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "sorted by amount": {"sort_by": ["amount"]},
    "zorder, index": {"sort_by": ["zorder(amount, placed)"], "index": ["email"]},
    "hilbert, index": {"sort_by": ["hilbert(amount, placed)"], "index": ["email"]},
}
_SORT_ORDERS = ("amount", "zorder(amount, placed)")
"""Of the plain Iceberg tables."""
_SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("amount", pa.float64()),
        ("placed", pa.timestamp("us", tz="UTC")),
        ("email", pa.string()),
        ("note", pa.binary()),
    ]
)
_FILTERS = {
    "key": "id = 77777",
    "first column, 0.1 %": "amount >= 500.0 and amount < 501.0",
    "second column, 0.1 %": (
        "placed >= timestamp '2001-09-09 01:46:40+00:00' "
        "and placed < timestamp '2001-09-09 02:03:20+00:00'"
    ),
    "both, 5 % each": (
        "amount >= 500.0 and amount < 550.0 and placed >= timestamp '2001-09-09 01:46:40+00:00' "
        "and placed < timestamp '2001-09-09 15:40:00+00:00'"
    ),
    "indexed": "email = 'user-77777@example.org'",
    "indexed, not there": "email = 'user-77777@example.com'",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-skipping", description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--target-mib", type=float, default=8, help="target size of files")
    given = parser.parse_args(arguments)
    report = Report(f"{given.rows:,} rows, files of {given.target_mib:g} MiB")
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        found: dict[str, list[int]] = {}
        for number, (name, layout) in enumerate(_LAYOUTS.items()):
            report.step(name)
            table = _made(Path(folder) / str(number), layout, given, report, name)
            for what, condition in _FILTERS.items():
                found.setdefault(what, []).append(_asked(table, name, what, condition, report))
        for number, order in enumerate(_SORT_ORDERS):
            name = f"Iceberg, {order}"
            report.step(name)
            rewritten = _rewritten(Path(folder) / f"iceberg-{number}", order, given, report, name)
            for what, condition in _FILTERS.items():
                found[what].append(_asked_of_iceberg(rewritten, name, what, condition, report))
        wrong = [what for what, counts in found.items() if len(set(counts)) > 1]
        if wrong:
            raise SystemExit(f"the tables differ: {wrong}")
    report.show()
    return 0


def _made(
    folder: Path, layout: dict[str, Any], given: argparse.Namespace, report: Report, name: str
) -> arctic.Table:
    table = arctic.create_table(
        "bench.t",
        _SCHEMA,
        primary_key="id",
        properties={"self-optimizing.target-size": str(int(given.target_mib * 2**20))},
        warehouse=str(folder),
        **layout,
    )
    started = time.process_time()
    for start in range(0, given.rows, _CHUNK):
        table.write(_rows(start, min(_CHUNK, given.rows - start), given.rows), mode="append")
    written = time.process_time() - started
    started = time.process_time()
    table.optimize(type="full")
    optimized = time.process_time() - started
    table.refresh()
    files = [row for row in table.inspect("files").to_pylist() if row["kind"] == "B"]
    size = sum(row["size_bytes"] for row in files) / 2**20
    report.note(f"{name}: base files, MiB", f"{len(files)}, {size:,.1f}")
    report.note(f"{name}: CPU seconds of writes, of the full", f"{written:.1f}, {optimized:.1f}")
    return table


def _rewritten(
    folder: Path, order: str, given: argparse.Namespace, report: Report, name: str
) -> StaticTable:
    catalog = open_catalog(CatalogConfig.from_options({"warehouse": str(folder)}), create=True)
    catalog.create_namespace("bench")
    table = catalog.create_table("bench.t", _SCHEMA)
    for start in range(0, given.rows, _CHUNK):
        table.append(_rows(start, min(_CHUNK, given.rows - start), given.rows))
    place = str(table.metadata_location)
    done = rewrite(place, sort_order=order, target_bytes=int(given.target_mib * 2**20))
    sorted_table = StaticTable.from_metadata(done["metadata"])
    sizes = [task.file.file_size_in_bytes for task in sorted_table.scan().plan_files()]
    report.note(f"{name}: base files, MiB", f"{len(sizes)}, {sum(sizes) / 2**20:,.1f}")
    report.note(f"{name}: wall seconds of rewrite_data_files", f"{done['seconds']:.1f}")
    return sorted_table


def _asked_of_iceberg(
    table: StaticTable, name: str, what: str, condition: str, report: Report
) -> int:
    # PyIceberg takes a time as ISO 8601 has it.
    text = re.sub(r"timestamp '(\S+) (\S+)'", r"'\1T\2'", condition)
    scan = table.scan(row_filter=text)
    wanted = expression_to_pyarrow(bind(table.schema(), scan.row_filter, case_sensitive=True))
    opened = [ds.dataset(task.file.file_path) for task in scan.plan_files()]
    fragments = [fragment for file in opened for fragment in file.get_fragments()]
    groups = sum(len(fragment.split_by_row_group(wanted)) for fragment in fragments)
    total = sum(fragment.num_row_groups for fragment in fragments)
    rows: int = scan.to_arrow().num_rows
    taken = seconds(lambda: table.scan(row_filter=text).to_arrow(), repeats=5)
    counts = f"{len(opened)} files, {groups:,} of {total:,} row groups"
    report.add(f"{name}: {what}: {counts}", taken, rows=rows)
    return rows


def _rows(start: int, count: int, total: int) -> pa.Table:
    random = np.random.default_rng(start)
    # A permutation without memory: one number for each id, far from those of its neighbours.
    users = (np.arange(start, start + count) * 1_000_003) % total
    return pa.table(
        {
            "id": np.arange(start, start + count),
            "amount": random.random(count) * 1_000,
            "placed": pa.array(
                1_000_000_000_000_000 + random.integers(10**12, size=count),
                _SCHEMA.field("placed").type,
            ),
            "email": [f"user-{user}@example.org" for user in users],
            "note": pa.array([random.bytes(24) for _ in range(count)]),
        },
        schema=_SCHEMA,
    )


def _asked(table: arctic.Table, name: str, what: str, condition: str, report: Report) -> int:
    text = str(table.explain(filter=condition, options={"parallelism": "1"}, analyze=True))
    opened = re.search(r"opened +([\d,]+) data files? with ([\d,]+) row", text)
    read = re.search(r"\n  read +([\d,]+) row group", text)
    looked_at = re.search(r"([\d,]+) row groups? after a look", text)
    rows: int = table.read(filter=condition).read_all().num_rows
    taken = seconds(lambda: table.read(filter=condition).read_all(), repeats=5)
    counts = "no file"
    if opened is not None and read is not None:
        groups = _number(read[1]) + (_number(looked_at[1]) if looked_at else 0)
        counts = f"{opened[1]} files, {groups:,} of {opened[2]} row groups"
    report.add(f"{name}: {what}: {counts}", taken, rows=rows)
    return rows


def _number(text: str) -> int:
    return int(text.replace(",", ""))


if __name__ == "__main__":
    sys.exit(main())
