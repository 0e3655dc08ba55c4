"""What a node costs by what it holds: ``make bench-node-load``, which constants of trees are from.

One node of orders, and beside it others of the same rows with as many inserts of other keys, with
deletes of as many keys that lie between those of base, and with upserts of each key. Each is read
and merged by one thread, in a process of its own. The figures are what a row of changes costs
beside one of base: processor time, and memory at the peak above that of base alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

import arctic
from arctic.job.tasks.run_tasks import LocalRunner
from benchmarks.measure import Report
from benchmarks.memory import peak_of
from benchmarks.orders import SCHEMA, orders

KINDS = ("base", "appends", "deletes", "upserts")
"""What is not merged beside base; of the first, nothing."""
VERBS = ("read", "merge")
_ONE_NODE = {"base.file-index.hash-bucket": "1", "change.file-index.hash-bucket": "1"}
_BATCHES = 5
_MIB = 2**20


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="make bench-node-load", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="of base, and of changes")
    parser.add_argument("--rounds", type=int, default=3, help="of each, in turn")
    parser.add_argument("--only", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.only:
        print(json.dumps(_seconds(*given.only)))
        return 0
    report = Report(f"One node of {given.rows:,} orders and as many changes, one thread")
    taken: dict[tuple[str, str], list[tuple[float, float]]] = {}
    sizes: dict[str, dict[str, int]] = {}
    for number in range(given.rounds):
        with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
            for kind in KINDS:
                report.step(f"round {number + 1}: {kind}")
                place = Path(folder) / kind
                sizes[kind] = _made(place, kind, given.rows)
                for verb in VERBS:
                    taken.setdefault((verb, kind), []).append(_apart(place, verb))
    for verb in VERBS:
        _tell(report, verb, {kind: taken[verb, kind] for kind in KINDS}, given.rows)
    for kind, size in sizes.items():
        held = ", ".join(f"{name} {number / _MIB:.1f}" for name, number in size.items())
        report.note(f"{kind}: MiB of files", held)
    report.show()
    return 0


def _made(folder: Path, kind: str, rows: int) -> dict[str, int]:
    """Make the table of a kind; return the bytes of its files, by what they are."""
    table = arctic.create_table(
        "bench.t", SCHEMA, primary_key="order_id", properties=_ONE_NODE, warehouse=str(folder)
    )
    random = np.random.default_rng(7)
    for part in np.array_split(np.arange(rows), _BATCHES):
        table.write(orders(2 * part, random), mode="append")
    table.optimize(type="full")
    for part in np.array_split(random.permutation(rows), _BATCHES) if kind != "base" else ():
        if kind == "deletes":
            table.write(pa.table({"order_id": 2 * part + 1}), mode="delete")
        elif kind == "appends":
            table.write(orders(2 * part + 1, random), mode="append")
        else:
            table.write(orders(2 * part, random), mode="upsert")
    nodes = table.refresh().inspect("nodes").to_pylist()
    names = ("base", "insert", "change_delete")
    return {name: sum(node[f"{name}_bytes"] for node in nodes) for name in names}


def _apart(folder: Path, verb: str) -> tuple[float, float]:
    """Do it in a process of its own; return its processor seconds, and its memory in MiB."""
    command = [sys.executable, "-m", "benchmarks.node_load", "--only", str(folder), verb]
    said, memory = peak_of(command)
    return float(json.loads(said)), memory.process_bytes / _MIB


def _seconds(folder: str, verb: str) -> float:
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    table = arctic.open_table("bench.t", warehouse=folder)
    started = time.process_time()
    if verb == "merge":
        table.optimize(type="full", runner=LocalRunner(1))
    else:
        for _ in table.read(options={"parallelism": "1"}):
            pass
    return time.process_time() - started


def _tell(
    report: Report, verb: str, taken: dict[str, list[tuple[float, float]]], rows: int
) -> None:
    best = {kind: min(each) for kind, each in taken.items()}
    base_seconds, base_mib = best["base"]
    for kind, (seconds, mib) in best.items():
        each = (seconds - (base_seconds if kind != "base" else 0)) / rows * 1e6
        more = "" if kind == "base" else f", {each / (base_seconds / rows * 1e6):.2f} of base"
        memory = f"{mib:,.0f} MiB" + (
            "" if kind == "base" else f", {(mib - base_mib) * _MIB / rows:+.0f} bytes a row"
        )
        report.note(f"{verb}: {kind}", f"{seconds:.2f} s, {each:.2f} us a row{more}; peak {memory}")


if __name__ == "__main__":
    sys.exit(main())
