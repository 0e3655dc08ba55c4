"""Reads tables with Iceberg's own Java library, as ``readers`` does with engines.

``python -m benchmarks.engines.java_reader FOLDER STATE...`` prints a line of JSON for each state,
and with ``--version`` the version. The jars are those of the tests.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

from tests.java.canonical import lines
from tests.java.plain_java import PlainIceberg, running_java

TITLE = "Iceberg's Java library, its generic reader"
_POM = Path(__file__).parents[2] / "tests" / "java" / "pom.xml"


def version() -> str:
    """Return the version of the jars."""
    found = re.search(r"<iceberg.version>(.*)</iceberg.version>", _POM.read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def outcomes(java: PlainIceberg, folder: Path, states: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield what came of reading each state."""
    with tempfile.TemporaryDirectory() as place:
        for state in states:
            out = Path(place) / state
            expected = lines(pq.read_table(folder / f"{state}.parquet"))
            try:
                table = java.static_table((folder / f"{state}.txt").read_text())
                java.rows.write(table, str(out))
            except Py4JJavaError as error:
                text = " ".join(str(error.java_exception).split())
                yield {"state": state, "verdict": "refused", "said": text[:160]}
                continue
            found = out.read_text(encoding="utf-8").split("\n")[:-1]
            verdict = "right" if found == expected else "wrong"
            said = "" if verdict == "right" else f"{len(found)} rows; {len(expected)} were due"
            yield {"state": state, "verdict": verdict, "said": said}


def main() -> None:
    """Print what is asked for."""
    if sys.argv[1] == "--version":
        print(version())
        return
    with running_java() as jvm:
        for each in outcomes(PlainIceberg(jvm), Path(sys.argv[1]), sys.argv[2:]):
            print(json.dumps(each), flush=True)


if __name__ == "__main__":
    main()
