"""The figures of a run as a table, and as a section of the page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from benchmarks.ch.queries import QUERIES
from benchmarks.ch.work import Plan
from benchmarks.ch.workload import AT_WORK, AUTOPILOT, FRESH, query_phase, states
from benchmarks.peers.report import remarks
from benchmarks.peers.result import SystemResult
from benchmarks.peers.sections import markdown, outcome
from benchmarks.peers.spread import Line, spread_line, table_of, total_line, total_of


def lines(systems: Sequence[SystemResult], plan: Plan, queries: Sequence[int]) -> list[Line]:
    """Return every figure of the systems: sums first, then each query."""
    numbers = range(1, 2 * plan.rounds + 1)
    line, total = partial(spread_line, systems), partial(total_line, systems)
    found = [
        line("load", ["load"]),
        line("a round: until all of it is visible", [f"round {n}" for n in numbers]),
        line("of it: the transactions themselves", [f"at work {n}" for n in numbers]),
        line("freshness: written until visible", [f"fresh after {n}" for n in numbers]),
        line("upkeep of all tables", [f"upkeep {n}" for n in numbers[plan.rounds - 1 :]]),
    ]
    for state in (*states(plan.rounds), AT_WORK):
        label = f"{len(queries)} queries, {state}"
        found.append(total(label, [query_phase(number, state) for number in queries]))
    found += [
        line(f"Q{number}, {state}", [query_phase(number, state)], one_of=f"queries, {state}")
        for number in queries
        for state in (FRESH, states(plan.rounds)[plan.rounds], AUTOPILOT)
    ]
    return found


def growth(system: SystemResult, plan: Plan, queries: Sequence[int]) -> str:
    """Say how much longer the queries take in the end than fresh; empty: not all were measured."""
    shares = []
    for state in (states(plan.rounds)[plan.rounds], AUTOPILOT):
        first = total_of(system, [query_phase(number, FRESH) for number in queries])
        last = total_of(system, [query_phase(number, state) for number in queries])
        if not first or not last:
            return ""
        shares.append(last[0] / first[0])
    return (
        f"{system.name}: queries take {shares[0]:.2f}x of the fresh ones' time after "
        f"{plan.rounds} rounds without upkeep, {shares[1]:.2f}x after {plan.rounds} more with it"
    )


def _asked(queries: Sequence[int]) -> str:
    if len(queries) == len(QUERIES):
        return f"The {len(QUERIES)} queries"
    return f"Of the {len(QUERIES)} queries, {', '.join(f'Q{number}' for number in queries)}"


def section(
    systems: Sequence[SystemResult],
    plan: Plan,
    *,
    queries: Sequence[int],
    repeats: int,
    note: str,
) -> str:
    """Return what the page says of a run."""
    table = table_of(systems, lines(systems, plan, queries))
    grown = [said for said in (growth(each, plan, queries) for each in systems) if said]
    count = plan.batches * plan.transactions
    asked = _asked(queries)
    return f"""A shop as in TPC-C, of {plan.size.warehouses} warehouses, {plan.size.items:,} items
and {plan.size.customers:,} customers in each district, is at work in PostgreSQL: {2 * plan.rounds}
rounds of {count:,} transactions, in TPC-C's shares and of one connection. Arctic mirrors all 12
tables while it does, and is asked meanwhile; a change is visible when the mirror has confirmed its
place in the log. The others get the same changes as PostgreSQL holds them after every
{plan.transactions:,} transactions, as upserts and deletes by key, with nothing beside. {asked}
of CH-benCHmark run through Spark: fresh, after each of {plan.rounds} rounds without
upkeep, after each system's own upkeep, and after {plan.rounds} more rounds with upkeep after each;
{1 + repeats} times, of which the first does not count. PostgreSQL's own answers are the right ones.
`make bench-ch` measures it, and with `--write-docs` writes this section.

{outcome(systems, markdown(table), [*grown, *remarks(systems)], note=note)}"""
