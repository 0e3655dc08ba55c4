"""Try which engines read published tables right: ``make engines``; --write-docs writes the pages.

Tables of several layouts are published after every step of a history. Each engine reads each state
in a process of its own, and its rows are compared with those of ``arctic.read``, one by one.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.engines import java_reader
from benchmarks.engines.histories import OUTPUTS, publish_histories
from benchmarks.engines.readers import ENGINES

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "docs" / "engines.md")
BEGIN, END = "<!-- engines: make engines -->", "<!-- end of engines -->"
JAVA = "java"
TITLES = {**{engine: said for engine, (said, *_) in ENGINES.items()}, JAVA: java_reader.TITLE}
"""Engine -> what the page calls it."""
LINES = Path(__file__).with_name("one_liners.py")
AWAY = ("Daft", "DataFusion")
"""Lines of docs/reading.md for libraries that the environment of the tests lacks."""
READERS = Path(__file__).with_name("readers.py")
SPARK = "spark"
SPARK_READER = (
    *("env", f"PYTHONPATH={Path(sys.prefix) / 'oldest-pyspark'}"),
    *(sys.executable, str(READERS), SPARK),
)
"""On the oldest PySpark: Iceberg has no runtime for newer ones yet."""
Outcome = dict[str, str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the matrix, or write it into the page."""
    parser = argparse.ArgumentParser(prog="make engines", description=__doc__)
    parser.add_argument("--python", required=True, help="of the environment with the engines")
    parser.add_argument(
        "--write-docs", action="store_true", help="write README.md and docs/engines.md"
    )
    parser.add_argument("engine", nargs="*", help=f"of {', '.join(TITLES)}; all")
    given = parser.parse_args(arguments)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([given.python, str(LINES), *AWAY], check=True, env=environment)
    with tempfile.TemporaryDirectory(prefix="arctic-engines-") as folder:
        states = list(publish_histories(Path(folder)))
        rows = []
        for engine in given.engine or TITLES:
            command = _command(engine, given.python)
            version = _run(*command, "--version").strip()
            lines = _run(*command, folder, *states).splitlines()
            rows.append(_row(engine, version, [json.loads(line) for line in lines]))
    today = datetime.datetime.now(tz=datetime.timezone.utc).date()
    text = "\n".join([_header(len(states)), *rows, "", f"Tried on {today:%Y-%m-%d}."])
    print(text)
    if given.write_docs:
        for page in PAGES:
            before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
            _, _, after = rest.partition(END)
            page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
    return 0


def _command(engine: str, python: str) -> list[str]:
    """Return what reads with an engine, in a Python that has it."""
    if engine == JAVA:
        return [sys.executable, "-m", "benchmarks.engines.java_reader"]
    if engine == SPARK:
        return list(SPARK_READER)
    return [python, str(READERS), engine]


def _run(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def _header(states: int) -> str:
    outputs = " | ".join(f"`{output}`" for output in OUTPUTS)
    return (
        f"| of {states // len(OUTPUTS)} states each | version | {outputs} |\n"
        f"|---|---|{'---|' * len(OUTPUTS)}"
    )


def _row(engine: str, version: str, said: Sequence[Outcome]) -> str:
    cells = [
        _cell([each for each in said if each["state"].startswith(f"{output}-")])
        for output in OUTPUTS
    ]
    return f"| {TITLES[engine]} | {version} | {' | '.join(cells)} |"


def _cell(said: Sequence[Outcome]) -> str:
    counts = Counter(each["verdict"] for each in said)
    if list(counts) == ["right"]:
        return "right"
    shown = ", ".join(
        f"{counts[name]} {name}" for name in ("right", "refused", "wrong") if counts[name]
    )
    reason = next(each["said"] for each in said if each["verdict"] != "right")
    return f"{shown}: {re.sub(r' for /[^ ]*', '', reason)}"


if __name__ == "__main__":
    sys.exit(main())
