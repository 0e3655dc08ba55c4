"""A stream beside a service that optimizes its table, and the same without any optimizing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import arctic
from benchmarks.served import served

if TYPE_CHECKING:
    from benchmarks.streaming import StreamingRun

MOST_RATIO = 1.2
_PROPERTIES = {
    "self-optimizing.min-plan-interval": "5000",
    "self-optimizing.minor.trigger.file-count": "8",
}
_LEFT_ALONE = {"self-optimizing.enabled": "false"}
_SERVE = ("--group", "default=1", "--interval", "5")
_ALONE, _BESIDE = "upsert, no optimizing", "upsert, optimize=auto beside a service"
_ORDER = (_ALONE, _BESIDE, _BESIDE, _ALONE)


def measure_optimizing(run: StreamingRun) -> None:
    """Measure both in turn, and say how their batches compare."""
    taken: dict[str, list[float]] = {_ALONE: [], _BESIDE: []}
    runs, busy = 0, 0.0
    # The first one warms up: code is compiled for some batches.
    _batches(run, "bench.warm", "none")
    for number, title in enumerate(_ORDER):
        if title == _ALONE:
            taken[title] += _batches(run, f"bench.t{number}", "none")
            continue
        with served(run.warehouse, *_SERVE) as service:
            service.wait_for("found", 1)
            taken[title] += _batches(run, f"bench.t{number}", "auto")
            done = service.said("optimized")
            runs, busy = runs + len(done), busy + sum(each["seconds"] for each in done)
    for title, batches in taken.items():
        run.report.add(f"{title}: p50", percentile(batches, 50), rows=run.batch_rows)
        run.report.add(f"{title}: p99", percentile(batches, 99), rows=run.batch_rows)
    for share in (50, 99):
        ratio = percentile(taken[_BESIDE], share) / percentile(taken[_ALONE], share)
        run.report.note(
            f"p{share}, beside / alone", f"{ratio:.2f}x (target: at most {MOST_RATIO}x)"
        )
    run.report.note("runs of the service meanwhile", f"{runs}, {busy:.0f} s")


def percentile(taken: Sequence[float], share: int) -> float:
    """Return the least figure that so many percent of all do not exceed.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 50), percentile([4.0, 1.0, 3.0, 2.0], 99)
    (2.0, 4.0)
    """
    ordered = sorted(taken)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def _batches(run: StreamingRun, name: str, optimize: str) -> list[float]:
    run.report.step(name)
    arctic.create_table(
        name,
        run.schema,
        primary_key=["id"],
        # Without a service nobody looks after it.
        properties=_PROPERTIES
        | ({} if optimize == "auto" else {"self-optimizing.enabled": "false"}),
        warehouse=run.warehouse,
    )
    progress = run.drained(
        False,
        name,
        lambda writer: (
            writer.format("arctic")
            .option("warehouse", run.warehouse)
            .option("write-mode", "upsert")
            .option("optimize", optimize)
            .start(name)
        ),
    )
    return run.batch_seconds(progress)
