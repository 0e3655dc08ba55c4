"""Damage files of a table and count what reads make of it: ``make fuzz``.

Every kind of file in turn is damaged or swapped with another valid one; then a table is read,
followed, written, optimized or expired. The trials run in processes of their own, so that one that
kills its process is counted like any other.

exact: the true rows. named: an error of Arctic's that names the file. unnamed: any other failure,
a process that died or hung included. wrong: other rows, or rows lost for good. apart: a swap that
nothing reveals, because the file alone says which state is the newest.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from fuzz.worker import APART, EXACT, KINDS, NAMED, UNNAMED, WRONG

_OUTCOMES = (EXACT, NAMED, UNNAMED, WRONG, APART)
_SECONDS = 120
"""After which a trial hangs; a trial takes a fraction of one."""
_SHOWN = 40


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trials and print the table; 1 if any was wrong or unnamed."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--trials", type=int, default=2_000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", type=int, help="one trial by its number, with what came of it")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--foreign", action="store_true", help="files without checksums; wrong rows are expected"
    )
    given = parser.parse_args(arguments)
    numbers = range(given.trials) if given.only is None else [given.only]
    results = run(numbers, seed=given.seed, workers=given.workers, foreign=given.foreign)
    if given.only is not None:
        print(json.dumps(results[given.only], indent=2))
    counts = print_results(results, seed=given.seed)
    return int(counts[UNNAMED] > 0 or (counts[WRONG] > 0 and not given.foreign))


def run(
    numbers: Iterable[int], *, seed: str, workers: int, foreign: bool = False
) -> dict[int, dict[str, str]]:
    """Return what came of each trial.

    Args:
        numbers: of the trials.
        seed: what they are drawn from.
        workers: processes at a time.
        foreign: whether the files carry no checksums.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in numbers:
        waiting.put(number)
    results: dict[int, dict[str, str]] = {}
    with tempfile.TemporaryDirectory(prefix="arctic-fuzz-") as folder:
        threads = [
            threading.Thread(
                target=_drain,
                args=(waiting, results, Path(folder) / f"lake{place}", seed, foreign),
            )
            for place in range(workers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return dict(sorted(results.items()))


def print_results(results: dict[int, dict[str, str]], *, seed: str) -> Counter[str]:
    """Print a line for each kind and the trials that failed; return the totals."""
    print(f"{'kind':<12}{'trials':>8}" + "".join(f"{name:>9}" for name in _OUTCOMES))
    totals: Counter[str] = Counter()
    for kind in KINDS:
        counts = Counter(each["outcome"] for each in results.values() if each["kind"] == kind)
        totals += counts
        _print_line(kind, counts)
    _print_line("all", totals)
    failed = [(at, each) for at, each in results.items() if each["outcome"] in (UNNAMED, WRONG)]
    for number, each in failed[:_SHOWN]:
        print(f"--seed {seed} --only {number}: {each['outcome']}: {each['what']}: {each['why']}")
    unrevealed = Counter(each["what"] for each in results.values() if each["outcome"] == APART)
    for what, count in sorted(unrevealed.items()):
        print(f"{APART}: {count} x {what}")
    return totals


def _print_line(kind: str, counts: Counter[str]) -> None:
    numbers = "".join(f"{counts[name]:>9,}" for name in _OUTCOMES)
    print(f"{kind:<12}{counts.total():>8,}{numbers}", flush=True)


def _drain(
    waiting: queue.SimpleQueue[int],
    results: dict[int, dict[str, str]],
    folder: Path,
    seed: str,
    foreign: bool,
) -> None:
    process: _Process | None = None
    try:
        while True:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            process = process or _Process(folder, seed, foreign)
            answer = process.ask(number)
            if answer is None:
                kind = KINDS[number % len(KINDS)]
                why = f"the process ended: {process.stop()}"
                answer = {"kind": kind, "what": "?", "outcome": UNNAMED, "why": why}
                process = None
            results[number] = answer
    finally:
        if process is not None:
            process.stop()


class _Process:
    """A worker that is running."""

    def __init__(self, folder: Path, seed: str, foreign: bool) -> None:
        command = [sys.executable, "-m", "fuzz.worker", str(folder), seed, foreign * "foreign"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self._answer() is None:
            raise RuntimeError(f"fuzz worker ended before its first trial: {self.stop()}")

    def ask(self, number: int) -> dict[str, str] | None:
        """Return what came of a trial; None if the process died or had to be killed."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{number}\n")
        self._process.stdin.flush()
        return self._answer()

    def stop(self) -> str:
        """End the process; return how it ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            code = self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._process.stdout.close()
        return f"exit code {code}"

    def _answer(self) -> dict[str, str] | None:
        assert self._process.stdout is not None
        watch = threading.Timer(_SECONDS, self._process.kill)
        watch.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watch.cancel()
        answer: dict[str, str] | None = json.loads(line) if line else None
        return answer


if __name__ == "__main__":
    sys.exit(main())
