"""The lines of docs/reading.md that give a table to other libraries, run as they stand there.

``python one_liners.py TITLE...`` prints the numbers that each of them finds, in an environment with
the libraries that Arctic can be imported in.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

import arctic

PAGE = Path(__file__).parents[2] / "docs" / "reading.md"
ALL = tuple(range(10))
"""What the table holds; a line with a filter asks for those above 5."""
_LINE = re.compile(r"\| (?P<title>[A-Za-z, ]+) \| (?P<code>`.*`)[^`]*\|")
_TO_ARROW: tuple[tuple[str, Callable[[Any], pa.Table]], ...] = (
    ("collect_schema", lambda found: found.lazy().collect().to_arrow()),  # Polars
    ("to_arrow_table", lambda found: found.to_arrow_table()),  # DuckDB, DataFusion
    ("to_arrow", lambda found: found.to_arrow()),  # Daft
    ("iloc", pa.Table.from_pandas),
)


def lines() -> dict[str, list[str]]:
    """Return the statements of each line of the page, by what it is called there."""
    text = PAGE.read_text(encoding="utf-8").partition("## DuckDB, Polars, pandas, Daft")[2]
    found = filter(None, map(_LINE.match, text.partition("\n## ")[0].splitlines()))
    return {each["title"]: re.findall("`(.*?)`", each["code"]) for each in found}


def fill(warehouse: str) -> None:
    """Make the table that the lines read."""
    rows = pa.table({"id": ALL, "city": ["Rome"] * len(ALL)})
    arctic.write("shop.users", rows, options={"primaryKey": "id"}, warehouse=warehouse)


def due(statements: list[str]) -> list[int]:
    """Return the numbers that a line is to find."""
    return [number for number in ALL if number > 5 or "id > 5" not in statements[-1]]


def found(title: str) -> list[int]:
    """Run a line, and return the numbers that it finds, ascending."""
    *first, last = lines()[title]
    names: dict[str, Any] = {"arctic": arctic}
    for module in ("duckdb", "polars", "daft"):
        if f"{module}." in last:
            names[module] = import_module(module)
    if "context." in last:
        names["context"] = import_module("datafusion").SessionContext()
    for statement in first:
        exec(statement, names)
    answer = eval(last, names)
    for attribute, to_arrow in _TO_ARROW:
        if hasattr(answer, attribute):
            answer = to_arrow(answer)
            break
    return sorted(answer.column("id").to_pylist())


def main() -> None:
    """Print what each line finds; one that finds anything else fails."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ARCTIC_WAREHOUSE"] = folder
        fill(folder)
        for title in sys.argv[1:]:
            numbers = found(title)
            assert numbers == due(lines()[title]), (title, numbers)
            print(f"{title}: {' '.join(map(str, numbers))}", flush=True)


if __name__ == "__main__":
    main()
