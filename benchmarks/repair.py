"""Repair of equality deletes beside Spark's compaction of the same table: ``make bench-repair``.

A sink of ten writers fills a table without looking, as Flink's does: each commit has a data file
and a file of deleted keys from every writer. Then the keys become positions by ``arctic repair``,
and ``rewrite_data_files`` of Iceberg 1.10 on Spark 3.5 compacts what it was. Both then have no
equality delete left, and the rows of both are counted. Spark's start is not in its time. With
``--limit`` Spark is stopped after so many seconds, and what it does not reach is said.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.conversions import to_bytes
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan
from arctic.iceberg.commits.commit_loop import commit_snapshot
from arctic.iceberg.commits.staging import staged_on
from benchmarks.engines.rewriting import rewrite
from benchmarks.measure import Report
from benchmarks.memory import peak_of

WRITERS = 10
COLUMNS = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "city", StringType(), required=False),
    NestedField(3, "price", DoubleType(), required=False),
    NestedField(4, "number", LongType(), required=False),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-repair", description=__doc__)
    parser.add_argument("--files", type=int, default=2_000, help="data files")
    parser.add_argument("--rows", type=int, default=2_000, help="rows of each")
    parser.add_argument("--limit", type=float, help="seconds that Spark has")
    given = parser.parse_args(arguments)
    commits = given.files // WRITERS
    report = Report(f"repair: {given.files:,} data files of {given.rows:,} rows")
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        report.step("fill")
        table = _filled(folder, commits, given.rows)
        place = str(table.metadata_location)
        report.step("rewrite_data_files")
        rewritten = rewrite(place, limit=given.limit)
        report.step("repair")
        # In a process that has done nothing else, so that the memory is the repair's own.
        alone = [sys.executable, "-m", "arctic.cli", "repair", "db.t", "--output", "json"]
        said, memory = peak_of([*alone, "--warehouse", folder])
        report.step("count")
        rows = table.refresh().scan().count()
    total = given.rows * commits * WRITERS
    name = "rewrite_data_files"
    seconds = float(rewritten.get("seconds", given.limit or 0))
    if "rows" not in rewritten:
        report.note(name, str(rewritten["ended"]))
        name = "what Spark had"
    else:
        if rows != rewritten["rows"]:
            raise AssertionError(f"{rows:,} rows after the repair, {rewritten['rows']:,} by Spark")
        report.add(name, seconds, rows=total)
    report.add("repair", json.loads(said)["seconds"], rows=total, limit=seconds, limit_name=name)
    report.note("rows afterwards", f"{rows:,}")
    report.note("memory of the repair", str(memory))
    report.show()
    return 0


def _filled(folder: str, commits: int, rows: int) -> Table:
    arctic.create_table("db.first", pa.schema([("id", pa.int64())]), warehouse=folder)
    catalog = open_catalog(CatalogConfig.from_options({"warehouse": folder}))
    made = catalog.create_table("db.t", COLUMNS)
    generator = np.random.default_rng(7)
    for number in range(commits):
        files = tuple(_files(Path(folder), number, rows, commits * rows // 2, generator))
        plan = SnapshotPlan(operation=Operation.OVERWRITE, added=files)
        commit_snapshot(made, lambda head, own, plan=plan: staged_on(head, plan, own))  # type: ignore[misc]
    return catalog.load_table("db.t")


def _files(
    folder: Path, commit: int, rows: int, keys: int, generator: np.random.Generator
) -> Iterator[DataFile]:
    """Yield the files of a commit: half of its keys are in the table already, or so."""
    for writer in range(WRITERS):
        ids = np.sort(generator.choice(keys, rows, replace=False)) * WRITERS + writer
        columns = {
            "id": ids,
            "city": [f"city {each % 1_000}" for each in ids.tolist()],
            "price": generator.random(rows),
            "number": np.full(rows, commit),
        }
        table = pa.table(columns).cast(schema_to_pyarrow(COLUMNS))
        yield _file(folder / f"{commit}-{writer}.parquet", table, DataFileContent.DATA)
        deleted = table.select(["id"])
        place = folder / f"{commit}-{writer}-deletes.parquet"
        yield _file(place, deleted, DataFileContent.EQUALITY_DELETES)


def _file(path: Path, rows: pa.Table, content: DataFileContent) -> DataFile:
    pq.write_table(rows, path, compression="zstd")
    ids = rows["id"]
    first, last = (to_bytes(LongType(), ids[at].as_py()) for at in (0, -1))
    file = DataFile.from_args(
        content=content,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=rows.num_rows,
        file_size_in_bytes=path.stat().st_size,
        lower_bounds={1: first},
        upper_bounds={1: last},
        equality_ids=[1] if content == DataFileContent.EQUALITY_DELETES else None,
    )
    file.spec_id = 0
    return file


if __name__ == "__main__":
    sys.exit(main())
