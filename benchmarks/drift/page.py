"""The figures of a run as a table, as curves, and as a section of the page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.drift.accounts import NEW_SHARE, Shape
from benchmarks.drift.expected import QUERIES
from benchmarks.drift.workload import Rhythm, query_phase, upkeep_phase, upsert_phase
from benchmarks.peers.curves import curves
from benchmarks.peers.report import remarks
from benchmarks.peers.result import SystemResult
from benchmarks.peers.sections import markdown, outcome
from benchmarks.peers.spread import Line, spread_line, table_of, times_of, total_of

CHART = "benchmarks-drift.svg"


def lines(systems: Sequence[SystemResult], shape: Shape, rhythm: Rhythm) -> list[Line]:
    """Return every figure of the systems."""
    upserts = [upsert_phase(commit) for commit in range(1, shape.commits + 1)]
    asked = rhythm.asked(shape.commits)
    kept = [
        [upkeep_phase(commit) for commit in rhythm.kept(shape.commits)]
        if any(_has_time(system, upkeep_phase(c)) for c in rhythm.kept(shape.commits))
        else []
        for system in systems
    ]
    line = partial(spread_line, systems)
    found = [line("load", ["load"]), line(f"upsert, {len(upserts)} times", upserts)]
    found += [line(query, [query_phase(query, commit) for commit in asked]) for query in QUERIES]
    found.append(
        Line(
            label="one upkeep",
            times=tuple(times_of(each, names) for each, names in zip(systems, kept, strict=True)),
        )
    )
    queries = [query_phase(query, commit) for query in QUERIES for commit in asked]
    found.append(
        Line(
            label="all commits, each query once, upkeep",
            times=tuple(
                total_of(each, [*upserts, *queries, *names])
                for each, names in zip(systems, kept, strict=True)
            ),
        )
    )
    return found


def drawing(systems: Sequence[SystemResult], shape: Shape, rhythm: Rhythm) -> str:
    """Return curves of upserts and queries over the commits."""
    commits = range(1, shape.commits + 1)
    panels = {"upsert": {each.name: _points(each, upsert_phase, commits) for each in systems}}
    for query in QUERIES:
        panels[query] = {
            each.name: _points(
                each,
                lambda commit, query=query: query_phase(query, commit),
                rhythm.asked(shape.commits),
            )
            for each in systems
        }
    return curves(panels, x_title="commits")


def section(systems: Sequence[SystemResult], shape: Shape, rhythm: Rhythm, note: str) -> str:
    """Return what the page says of a run."""
    table = markdown(table_of(systems, lines(systems, shape, rhythm)))
    drawn = f"{table}\n\n![Seconds of upserts and queries over the commits]({CHART})"
    return f"""{shape.rows:,} accounts of 12 columns with {shape.key} keys in no order are loaded.
Then come {shape.commits} commits of {shape.batch:,} upserts, of which {NEW_SHARE:.0%} are new
accounts; the chance of the others falls with their rank to the power of {shape.skew:g}. Four
queries are asked after the load and after every {rhythm.ask_every} commits, {1 + rhythm.repeats}
times each, of which the first does not count. After every {rhythm.keep_every} commits, and after
the queries then, each system does its own upkeep: Arctic optimizes what is due, Iceberg rewrites
data files, Delta optimizes, Hudi compacts; Paimon compacts in its writes. The systems take turns,
for a query or a change each, so the machine is as slow for one as for the others.
`make bench-drift` measures it, and with `--write-docs` writes this section.

{outcome(systems, drawn, remarks(systems), note=note)}"""


def _has_time(system: SystemResult, name: str) -> bool:
    return name in system.phases and system.phases[name].seconds is not None


def _points(system: SystemResult, name_of, commits) -> list[tuple[float, float]]:  # type: ignore[no-untyped-def]
    found = []
    for commit in commits:
        phase = system.phases.get(name_of(commit))
        if phase is not None and phase.seconds is not None:
            found.append((float(commit), phase.seconds))
    return found
