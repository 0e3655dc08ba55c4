"""Merged reads with ordering columns beside the same reads without: ``make bench-ordering``.

The tables are those of ``make bench-merge`` with a number as key: without an ordering column, with
one by which half of the updates are late, and with one by which none is. One thread, processor
time; the tables take turns, and the ratio is that of the least times.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path

import pyarrow as pa

from arctic.mor.touched import Touched
from benchmarks.merge import SHAPES, _cpu, _job, _load, _merge, _questions

_PLAIN, _LATE, _RISING = "number", "ordered", "rising"
_QUESTIONS = 3
"""Those without a filter."""


def main() -> None:
    """Print a line for each read."""
    parser = argparse.ArgumentParser(prog="make bench-ordering", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="base rows of each table")
    parser.add_argument("--rounds", type=int, default=15, help="of each read")
    given = parser.parse_args()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    with tempfile.TemporaryDirectory(prefix="arctic-bench-") as folder:
        tables = {}
        for name in (_PLAIN, _LATE, _RISING):
            place = Path(folder) / name
            place.mkdir()
            tables[name] = _load(SHAPES[name], given.rows, str(place), None)
        print(f"{'read':<12} {'without':>8} {'half late':>16} {'none late':>16}")
        for question in _questions(SHAPES[_PLAIN], given.rows)[:_QUESTIONS]:
            jobs = {name: _job(table, question) for name, table in tables.items()}
            taken: dict[str, list[float]] = {name: [] for name in jobs}
            for _ in range(given.rounds):
                for name, job in jobs.items():
                    taken[name].append(_cpu(partial(_merge, job, Touched())))
            least = {name: min(times[1:]) for name, times in taken.items()}
            others = (
                f"{least[name] * 1000:,.0f} ms {least[name] / least[_PLAIN]:.2f}x"
                for name in (_LATE, _RISING)
            )
            print(
                f"{question.name:<12} {least[_PLAIN] * 1000:>5,.0f} ms"
                + "".join(f"{text:>17}" for text in others),
                flush=True,
            )


if __name__ == "__main__":
    main()
