"""The child's side of a measurement: one JSON line in, one JSON line out.

Whatever a library prints goes to the log, so standard output carries answers only.
"""

from __future__ import annotations

import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

REPEATS_SECONDS = 15.0
"""No repeat of a read begins later than this after the first began."""

REGIONS_AND_STATUSES = ("region", "status")


class System(ABC):
    """A table of orders in a folder, and everything that the workload does to it."""

    merges = True
    """Whether the rows are right after upserts; a raw limit does not care."""

    table = "bench.orders"

    keys: tuple[str, ...] = ("order_id",)
    """Columns that tell one row of the table from another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        """Holds tables and nothing else: what appears here counts as written."""

    @abstractmethod
    def versions(self) -> dict[str, str]:
        """Name what is measured."""

    @abstractmethod
    def load(self, source: str) -> None:
        """Create the table from a folder of Parquet files."""

    @abstractmethod
    def upsert(self, source: str) -> None:
        """Replace or insert the rows of a Parquet file, by key."""

    @abstractmethod
    def delete(self, source: str) -> None:
        """Remove the keys of a Parquet file."""

    @abstractmethod
    def aggregate(self) -> int:
        """Sum, average and count over several columns for each region and status."""

    @abstractmethod
    def column_sum(self) -> int:
        """Sum one column."""

    @abstractmethod
    def key_range(self, low: int, high: int) -> int | None:
        """Fetch the rows with ``low <= order_id < high``; None as for ``dump``."""

    @abstractmethod
    def dump(self) -> int | None:
        """Read every column of every row; None where the engine does not count them."""

    @abstractmethod
    def export(self, target: str) -> None:
        """Write the rows to a new folder of Parquet files, for the check; not measured."""

    def first_use(self, load: str, upsert: str, delete: str) -> None:
        """Do a little of everything to another table, so that what comes next is warm."""
        real, self.table = self.table, "bench.first_use"
        self.load(load)
        self.upsert(upsert)
        self.delete(delete)
        self.aggregate()
        self.dump()
        self.table = real

    def turn_to(self, table: str, *keys: str) -> None:
        """Have the calls that follow go to another table, perhaps with other keys."""
        self.table = table
        self.keys = keys or self.keys

    def ask(self, statement: str) -> list[list[Any]]:
        """Return the rows of a query, in which tables have no namespace; as JSON holds them."""
        raise NotImplementedError(f"{type(self).__name__} answers no SQL")

    def drain(self, statement: str) -> None:
        """Make every row of a query, and forget it."""
        raise NotImplementedError(f"{type(self).__name__} answers no SQL")

    def lookup(self, key: int) -> int | None:
        """Fetch one row."""
        return self.key_range(key, key + 1)

    def compact(self) -> str:
        """Rewrite the table to its best state; a text says why there is no such thing."""
        return ""

    def upkeep(self) -> str:
        """Do what users of the system do to a table now and then; a text says why nothing."""
        return self.compact()


def serve(system: Callable[[Path], System]) -> None:
    """Answer calls until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    made = system(Path(sys.argv[1]))
    _answer(answers, {"versions": made.versions(), "merges": made.merges})
    for line in sys.stdin:
        call = json.loads(line)
        _answer(answers, _perform(made, call))


def plain(value: Any) -> Any:
    """Return a value of a row as JSON holds it: a number, a text or nothing."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, date):
        return value.isoformat()
    return value


def _perform(system: System, call: dict[str, Any]) -> dict[str, Any]:
    work = getattr(system, call["what"])
    times: list[float] = []
    answer = None
    try:
        for _ in range(call["times"]):
            if sum(times) > REPEATS_SECONDS:
                break
            started = time.perf_counter()
            answer = work(*call["arguments"])
            times.append(time.perf_counter() - started)
    # Every library has errors of its own, and the parent reports them all alike.
    except Exception as error:  # noqa: BLE001
        text = " ".join(str(error).split())
        return {"error": f"{type(error).__name__}: {text[:300]}"}
    return {"seconds": times, "answer": answer}


def _answer(answers: Any, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
