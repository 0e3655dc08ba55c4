"""What each writer does to each table, and what the table must then show.

The operations of a writer are a function of seed, table, writer and number, so every process knows
them without being told. Writers have keys of their own, and commit one operation after the other;
so what a reader sees of a writer must be its state after some operation, whole.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

TABLES: Mapping[str, tuple[str, ...]] = {"soak.moving": ("region",), "soak.plain": ()}
"""Partition fields of each table: in the first one keys move between partitions."""
WRITERS = ("writer-1", "writer-2", "stream")
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("region", pa.string()),
        ("operation", pa.int64()),
        ("note", pa.string()),
    ]
)
_KEYS = 60
_REGIONS = ("eu", "us", "asia")
_MOST_ROWS = 15
_DELETES = 0.25
_MOST_UNSEEN = 30
"""Operations in a row of which a reader may see no row."""
_FIRST_KEPT = 1_000_000

Row = tuple[int, str, int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One commit of a writer."""

    number: int
    mode: str
    rows: tuple[Row, ...]

    def data(self) -> pa.Table:
        """Return what is written: all columns, or the keys that are deleted."""
        columns = [list(column) for column in zip(*self.rows, strict=True)]
        table = pa.table(columns, schema=SCHEMA)
        return table.select(["id"]) if self.mode == "delete" else table

    def apply(self, state: dict[int, Row]) -> None:
        """Do it to a dictionary."""
        for row in self.rows:
            if self.mode == "delete":
                state.pop(row[0], None)
            else:
                state[row[0]] = row


def operation(seed: int, table: str, writer: str, number: int) -> Operation:
    """Return the operation of a number, from 0 on; streams only upsert."""
    draw = random.Random(f"{seed}/{table}/{writer}/{number}")
    first = WRITERS.index(writer) * 1_000
    keys = draw.sample(range(first, first + _KEYS), draw.randint(1, _MOST_ROWS))
    mode = "delete" if writer != "stream" and draw.random() < _DELETES else "upsert"
    rows = tuple((key, draw.choice(_REGIONS), number, f"{key}/{number}") for key in keys)
    return Operation(number=number, mode=mode, rows=rows)


@dataclass(slots=True, kw_only=True)
class Replay:
    """The operations of one writer on one table, as far as somebody has seen them."""

    seed: int
    table: str
    writer: str
    state: dict[int, Row] = field(default_factory=dict)
    done: int = 0

    def to(self, count: int) -> dict[int, Row]:
        """Return the state after so many operations, or after those that are done already."""
        while self.done < count:
            operation(self.seed, self.table, self.writer, self.done).apply(self.state)
            self.done += 1
        return self.state

    def accepts(self, seen: Mapping[int, Row]) -> bool:
        """Say whether this is what some operation leaves, not before the last that was seen."""
        newest = max((row[2] for row in seen.values()), default=-1)
        state = dict(self.to(newest + 1))
        # Deletes leave no trace of their number, nor do upserts whose rows they took: what was done
        # may be more than the newest row tells.
        for done in range(self.done, self.done + _MOST_UNSEEN):
            if state == seen:
                self.state, self.done = state, done
                return True
            operation(self.seed, self.table, self.writer, done).apply(state)
        return False


def by_writer(rows: Iterable[Row]) -> dict[str, dict[int, Row]]:
    """Divide rows by who wrote them.

    Raises:
        AssertionError: a key is there twice.
    """
    found: dict[str, dict[int, Row]] = {writer: {} for writer in WRITERS}
    for row in rows:
        mine = found[WRITERS[row[0] // 1_000]]
        assert row[0] not in mine, f"key {row[0]} is there twice: {mine[row[0]]} and {row}"
        mine[row[0]] = row
    return found


def kept_rows(seed: int, count: int) -> pa.Table:
    """Return rows that a table has from its beginning, and that no writer changes."""
    draw = random.Random(seed)
    keys = range(_FIRST_KEPT, _FIRST_KEPT + count)
    regions = [_REGIONS[key % len(_REGIONS)] for key in keys]
    # Notes that no codec makes small: what is merged weighs something beside what is not.
    notes = [draw.randbytes(20).hex() for _ in keys]
    return pa.table([list(keys), regions, [0] * count, notes], schema=SCHEMA)


def divided(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Divide what was read into rows of writers, and those that were kept, by key."""
    is_kept = pc.greater_equal(table["id"], _FIRST_KEPT)
    kept = table.filter(is_kept).select(SCHEMA.names).cast(SCHEMA).combine_chunks()
    return table.filter(pc.invert(is_kept)), kept.sort_by("id")


def rows_of(table: pa.Table) -> list[Row]:
    """Return the rows of a table as the model has them."""
    columns = [table.column(name).to_pylist() for name in SCHEMA.names]
    return list(zip(*columns, strict=True))
