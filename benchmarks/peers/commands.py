"""Row-level commands in SQL: the same text for every system, and for the oracle.

They run on a table that holds the load alone. Its rows are merged with those of the upserts, so a
MERGE has the same work as an upsert; then a part of the rows is changed in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.orders import CUSTOMERS
from benchmarks.peers.inputs import BATCHES, Inputs

TABLE = "bench.commands"
ROUNDS = 3
"""Of the commands that change what is stored; of each, the median is shown."""
FILTER_SHARE = 0.01

_MERGE = "merge into {target} t using changes s on t.order_id = s.order_id "
_MATCHING = "where customer_id >= {low} and customer_id < {high}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One kind of command."""

    name: str
    label: str
    """What it does, for a reader."""
    statement: str
    """With ``{target}``, ``changes`` as the source of a MERGE, and bounds of a filter."""


MERGE_ALL = Command(
    name="merge",
    label="MERGE of an upsert's rows",
    statement=_MERGE + "when matched then update set * when not matched then insert *",
)
MERGE_COLUMN = Command(
    name="merge a column",
    label="MERGE that adds to one column",
    statement=_MERGE + "when matched then update set quantity = t.quantity + s.quantity",
)
UPDATE = Command(
    name="update",
    label="UPDATE of 1 % by a filter",
    statement="update {target} set status = 'returned', quantity = quantity + 1 " + _MATCHING,
)
DELETE = Command(
    name="delete by filter",
    label="DELETE of 1 % by a filter",
    statement="delete from {target} " + _MATCHING,
)
COMMANDS = (MERGE_ALL, MERGE_COLUMN, UPDATE, DELETE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command, as it is run."""

    phase: str
    statement: str
    """With ``{target}`` still in it."""
    source: Path
    """What ``changes`` is."""


def steps(inputs: Inputs) -> Iterator[Step]:
    """Yield every command of the workload in order."""
    for number, source in enumerate(inputs.upserts, start=1):
        yield _step(MERGE_ALL, number, source)
    few = inputs.upserts[:ROUNDS]
    for command in (MERGE_COLUMN, UPDATE, DELETE):
        for number, source in enumerate(few, start=1):
            yield _step(command, number, source)


def first_steps(inputs: Inputs) -> Iterator[Step]:
    """Yield each command once, for the table of the first use."""
    for command in COMMANDS:
        yield _step(command, 0, inputs.first_use[1])


def phases_of(command: Command) -> tuple[str, ...]:
    """Return the names of a command's figures.

    >>> phases_of(UPDATE)
    ('sql update 1', 'sql update 2', 'sql update 3')
    """
    rounds = BATCHES if command is MERGE_ALL else ROUNDS
    return tuple(_phase(command, number) for number in range(1, rounds + 1))


def _step(command: Command, number: int, source: Path) -> Step:
    share = int(CUSTOMERS * FILTER_SHARE)
    # No command finds rows of another: deleted customers follow those whose rows were changed.
    low = (number + (ROUNDS + 1) * (command is DELETE)) * share
    statement = command.statement.format(target="{target}", low=low, high=low + share)
    return Step(phase=_phase(command, number), statement=statement, source=source)


def _phase(command: Command, number: int) -> str:
    return f"sql {command.name} {number}"
