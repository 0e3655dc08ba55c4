"""A stream that optimizes its table itself, beside a service that does, and without any of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import arctic
from benchmarks.served import served

if TYPE_CHECKING:
    from benchmarks.streaming import StreamingRun

MOST_RATIO = 1.2
_DUE_OFTEN = {
    "self-optimizing.min-plan-interval": "5000",
    "self-optimizing.minor.trigger.file-count": "8",
}
_LEFT_ALONE = {**_DUE_OFTEN, "self-optimizing.enabled": "false"}
_SERVE = ("--group", "default=1", "--interval", "5")
_ALONE = "upsert, no optimizing"
_BESIDE = "upsert, optimize=auto beside a service"
_WAITING = "upsert, optimize=auto without a service, which waits"
_ORDER = (_ALONE, _BESIDE, _WAITING, _WAITING, _BESIDE, _ALONE)
"""Each once early and once late: a machine is not as fast all the time."""


def measure_optimizing(run: StreamingRun) -> None:
    """Measure all of them in turn, and say how their batches compare."""
    taken: dict[str, list[float]] = {_ALONE: [], _BESIDE: [], _WAITING: []}
    runs, busy, waited = 0, 0.0, 0
    # The first one warms up: code is compiled for some batches.
    _batches(run, "bench.warm", "none", _LEFT_ALONE)
    for number, title in enumerate(_ORDER):
        name = f"bench.t{number}"
        if title == _ALONE:
            taken[title] += _batches(run, name, "none", _LEFT_ALONE)
        elif title == _WAITING:
            taken[title] += _batches(run, name, "auto", _DUE_OFTEN)
            waited += _commits_to_base(run, name)
        else:
            with served(run.warehouse, *_SERVE) as service:
                service.wait_for("found", 1)
                taken[title] += _batches(run, name, "auto", _DUE_OFTEN)
                done = service.said("optimized")
                runs, busy = runs + len(done), busy + sum(each["seconds"] for each in done)
    for title, batches in taken.items():
        run.report.add(f"{title}: p50", percentile(batches, 50), rows=run.batch_rows)
        run.report.add(f"{title}: p99", percentile(batches, 99), rows=run.batch_rows)
    for share in (50, 99):
        alone = percentile(taken[_ALONE], share)
        run.report.note(
            f"p{share}, of one without optimizing",
            f"{percentile(taken[_BESIDE], share) / alone:.2f}x beside a service (target: at most "
            f"{MOST_RATIO}x), {percentile(taken[_WAITING], share) / alone:.2f}x where it waits",
        )
    run.report.note("runs of the service meanwhile", f"{runs}, {busy:.0f} s")
    run.report.note("runs that a stream waited for", f"{waited}")


def percentile(taken: Sequence[float], share: int) -> float:
    """Return the least figure that so many percent of all do not exceed.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 50), percentile([4.0, 1.0, 3.0, 2.0], 99)
    (2.0, 4.0)
    """
    ordered = sorted(taken)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def _commits_to_base(run: StreamingRun, name: str) -> int:
    snapshots = arctic.open_table(name, warehouse=run.warehouse).inspect("snapshots")
    stores: list[str] = snapshots["store"].to_pylist()
    return stores.count("base")


def _batches(
    run: StreamingRun, name: str, optimize: str, properties: Mapping[str, str]
) -> list[float]:
    run.report.step(name)
    arctic.create_table(
        name, run.schema, primary_key=["id"], properties=properties, warehouse=run.warehouse
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
