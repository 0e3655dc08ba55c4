"""Merging beside the raw limit: ``make bench-merge``.

Tables of 12-column orders are loaded, changed by five upserts of 2 % and one delete of 0.5 %, and
read without Spark: once with all of that unmerged, once after a full optimize. Beside every read
pyarrow decodes the same columns of the same data files, merging nothing, and the same read compares
pages with their checksums. One thread each, processor time, the median of several rounds in which
they take turns.

The keys are a number whose updates are random, a number whose updates fall into 2 % of the keys, a
text, and two columns; and once more the first, in two tables with an ordering column, by which half
of the updates are late, and none.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import arctic
from arctic import options as opt
from arctic.iceberg.filters.parse_filter import parse_filter
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.plan_rows import BATCH_ROWS
from arctic.job.read.read_task import MergeReader
from arctic.job.read.scan_job import ScanJob, scan_opened
from arctic.mor.touched import Touched
from benchmarks.orders import base_rows, change_rows
from benchmarks.peers.inputs import BATCH_SHARE, BATCHES, DELETE_SHARE, widened

_LATEST = 2_000_000_000_000_000
"""Microseconds since 1970: later than all orders."""
HOT_SHARE = 50
"""One key in so many is ever changed in the hot table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A kind of key."""

    name: str
    key: tuple[str, ...]
    convert: Callable[[pa.Table], pa.Table]
    hot: bool = False
    ordering: tuple[str, ...] = ()
    is_late: bool = True
    """Whether values of ordering columns are drawn; else each upsert has greater ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A kind of read."""

    name: str
    columns: tuple[str, ...] | None
    filter: str | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-merge", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="base rows of each table")
    parser.add_argument("--rounds", type=int, default=5, help="of each read")
    parser.add_argument("--keys", default=",".join(SHAPES), help="tables, in this order")
    parser.add_argument("--row-group", help="write.parquet.row-group-size-bytes; else the default")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        measure_merge(
            Path(folder),
            rows=given.rows,
            rounds=given.rounds,
            keys=given.keys.split(","),
            row_group=given.row_group,
        )
    return 0


def measure_merge(
    folder: Path, *, rows: int, rounds: int, keys: Sequence[str], row_group: str | None
) -> None:
    """Print one line for each table and read.

    Args:
        folder: scratch space, about 50 bytes a row for each table.
        rows: of each table when it is loaded.
        rounds: how often each read is measured.
        keys: names of ``SHAPES``.
        row_group: the size of row groups; None: the default.
    """
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    print(f"{rows:,} orders x 12 columns; CPU ms, one thread, median of {rounds}; x of pyarrow")
    head = f"{'key':<8} {'read':<10} {'unmerged':>14} {'compacted':>14} {'between':>8}"
    print(f"{head}  {'to verify':<15} row groups")
    for name in keys:
        shape = SHAPES[name]
        table = _load(shape, rows, str(folder), row_group)
        questions = _questions(shape, rows)
        unmerged = [_measure(table, question, rounds) for question in questions]
        table.optimize(type="full")
        compacted = [_measure(table, question, rounds) for question in questions]
        for question, before, after in zip(questions, unmerged, compacted, strict=True):
            between = f"{before.seconds / after.seconds:.2f}x"
            ratios = f"{before!s:>14} {after!s:>14} {between:>8}"
            verify = f"{before.to_verify:+.1%} {after.to_verify:+.1%}"
            print(
                f"{name:<8} {question.name:<10} {ratios}  {verify:<15} {before.groups}", flush=True
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One read of one state of a table."""

    seconds: float
    raw_seconds: float
    """Of pyarrow, on the same files; where a filter leaves row groups out, it reads more."""
    verified_seconds: float
    """The same read, comparing pages with their checksums."""
    groups: str

    @property
    def to_verify(self) -> float:
        """The share by which that takes longer."""
        return self.verified_seconds / self.seconds - 1

    def __str__(self) -> str:
        """Return milliseconds, and the ratio to pyarrow."""
        return f"{self.seconds * 1000:,.0f} {self.seconds / self.raw_seconds:.2f}x"


def _measure(table: arctic.Table, question: Question, rounds: int) -> Measured:
    job = _job(table, question)
    verifying = _job(table, question, verify=True)
    touched = Touched()
    _merge(job, touched)
    turns: list[Callable[[], None]] = [
        lambda: _merge(job, Touched()),
        lambda: _merge(verifying, Touched()),
        lambda: _decode(job),
    ]
    taken = [[_cpu(turn) for turn in turns] for _ in range(rounds + 1)]
    ours, verified, raw = map(statistics.median, zip(*taken[1:], strict=True))  # warm by then
    return Measured(
        seconds=ours,
        raw_seconds=raw,
        verified_seconds=verified,
        groups=f"{touched.read}/{touched.row_groups} read, {touched.merged} merged",
    )


def _cpu(run: Callable[[], None]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def _merge(job: ScanJob, touched: Touched) -> None:
    assert isinstance(job.reader, MergeReader)
    for group in job.groups:
        for _ in job.reader.read(group, touched):
            pass


def _decode(job: ScanJob) -> None:
    files = {part.file.path for group in job.groups for task in group.tasks for part in task.data}
    for path in sorted(files):
        with pq.ParquetFile(path.removeprefix("file://"), pre_buffer=True) as file:
            for _ in file.iter_batches(BATCH_ROWS, columns=job.schema.names, use_threads=False):
                pass


def _job(table: arctic.Table, question: Question, *, verify: bool = False) -> ScanJob:
    options = {**table._options, opt.VERIFY_CHECKSUMS.name: str(verify).lower()}
    asked = AskedRead.of(options)
    opened = asked.reference.open()
    row_filter = None if question.filter is None else parse_filter(question.filter, opened)
    return scan_opened(opened, asked, columns=question.columns, row_filter=row_filter)


def _load(shape: Shape, rows: int, warehouse: str, row_group: str | None) -> arctic.Table:
    schema = shape.convert(widened(next(base_rows(1)))).schema
    table = arctic.create_table(
        f"bench.{shape.name}",
        schema,
        primary_key=shape.key,
        ordering_columns=shape.ordering,
        warehouse=warehouse,
        properties={"write.parquet.row-group-size-bytes": row_group} if row_group else None,
    )

    def batches() -> Iterator[pa.RecordBatch]:
        for chunk in base_rows(rows):
            yield from shape.convert(widened(chunk)).to_batches()

    table.write(pa.RecordBatchReader.from_batches(schema, batches()), mode="overwrite")
    changed = rows // HOT_SHARE if shape.hot else rows
    size = min(int(rows * BATCH_SHARE), changed // 2)
    for number in range(BATCHES):
        orders = change_rows(changed, size, number=number)
        if shape.hot:  # new orders follow those of the whole table
            ids = orders.column("order_id").to_numpy()
            ids = np.where(ids < changed, ids, ids + rows)
            orders = orders.set_column(0, orders.schema.field(0), pa.array(ids))
        table.write(shape.convert(_risen(widened(orders), shape, number)), mode="upsert")
    gone = np.random.default_rng(2_000).choice(changed, int(rows * DELETE_SHARE), replace=False)
    some = next(base_rows(1)).take(pa.array(np.zeros(len(gone), np.int64)))
    orders = widened(some.set_column(0, some.schema.field(0), pa.array(gone)))
    orders = _risen(orders, shape, BATCHES)
    table.write(shape.convert(orders).select([*shape.key, *shape.ordering]), mode="delete")
    return table


def _questions(shape: Shape, rows: int) -> list[Question]:
    low, high, one = (f"{rows // 3}", f"{rows // 3 + rows // 100}", f"{rows // 2}")
    if shape.name == "text":
        low, high, one = (f"'{_text(number)}'" for number in (low, high, one))
    point = f"order_id = {one}"
    if shape.name == "two":
        point += f" and customer_id = {_customer(np.int64(rows // 2))}"
    return [
        Question(name="full", columns=None),
        Question(name="aggregate", columns=("status", "region", "amount")),
        Question(name="one column", columns=("amount",)),
        Question(name="range 1 %", columns=None, filter=f"order_id >= {low} and order_id < {high}"),
        Question(name="one key", columns=None, filter=point),
        Question(name="rare", columns=None, filter="amount > 700 and quantity = 15"),
    ]


def _risen(orders: pa.Table, shape: Shape, number: int) -> pa.Table:
    if shape.is_late:
        return orders
    at = pa.scalar(_LATEST + number * 1_000_000).cast(pa.timestamp("us", tz="UTC"))
    place = orders.schema.get_field_index("updated_at")
    return orders.set_column(place, orders.schema.field(place), pa.repeat(at, orders.num_rows))


def _same(orders: pa.Table) -> pa.Table:
    return orders


def _text(number: str) -> str:
    return f"order-{number:0>10}"


def _with_text(orders: pa.Table) -> pa.Table:
    digits = pc.utf8_lpad(pc.cast(orders.column("order_id"), pa.string()), 10, "0")
    texts = pc.binary_join_element_wise("order", digits, "-")
    return orders.set_column(0, pa.field("order_id", pa.string(), nullable=False), texts)


def _customer(ids: np.ndarray | np.int64) -> np.ndarray | np.int64:
    return ids * 7_919 % 200_000


def _with_customer(orders: pa.Table) -> pa.Table:
    customers = pa.array(_customer(orders.column("order_id").to_numpy()))
    return orders.set_column(1, pa.field("customer_id", pa.int64(), nullable=False), customers)


SHAPES = {
    shape.name: shape
    for shape in (
        Shape(name="number", key=("order_id",), convert=_same),
        Shape(name="hot", key=("order_id",), convert=_same, hot=True),
        Shape(name="text", key=("order_id",), convert=_with_text),
        Shape(name="ordered", key=("order_id",), convert=_same, ordering=("updated_at",)),
        Shape(
            name="rising",
            key=("order_id",),
            convert=_same,
            ordering=("updated_at",),
            is_late=False,
        ),
        Shape(name="two", key=("customer_id", "order_id"), convert=_with_customer),
    )
}

if __name__ == "__main__":
    sys.exit(main())
