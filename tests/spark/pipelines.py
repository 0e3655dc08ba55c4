"""Projects of pipelines, run part by part of their feed in a server of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import arctic
from tests.spark.catalog.small_plans import SMALL

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "pipelines"
Event = dict[str, Any]
CHEAP = SMALL | {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.pipelines.maxFlowRetryAttempts": "0",
}
"""Settings of the flows, whose plans are large and whose rows are few; what fails, fails."""


def ran(
    project: Path, told: Iterable[Iterable[Event]], refreshed: Mapping[int, list[str]] | None = None
) -> tuple[list[str], str]:
    """Run a project once for each part of its feed; return how the runs ended, and all they said.

    Args:
        project: it; its settings are of this test from then on.
        told: the parts.
        refreshed: part -> tables that begin anew with it, from this part alone; what they were
            has the tag ``before``.
    """
    shutil.rmtree(project / "feed", ignore_errors=True)
    for folder in ("feed", "parts"):
        (project / folder).mkdir()
    for number, part in enumerate(told):
        lines = "\n".join(json.dumps(event) for event in part)
        (project / "parts" / f"{number}.json").write_text(lines)
    settings = arctic.spark_conf(warehouse=str(project / "warehouse")) | {
        "spark.ui.enabled": "false",
        "spark.sql.connect.serverStacktrace.enabled": "false",
        "spark.pyspark.python": os.environ.get("PYSPARK_PYTHON", sys.executable),
    }
    spec = project / "spark-pipeline.yml"
    cheap = "".join(f'  {name}: "{value}"\n' for name, value in CHEAP.items())
    text = re.sub(r"storage: .*", f"storage: file://{project}/storage", spec.read_text())
    spec.write_text(re.sub(r"(configuration:\n)(  .*\n)+", rf"\1{cheap}", text))
    arguments = [json.dumps(each) for each in (settings, refreshed or {})]
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.pipeline_driver", *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    ends = [line for line in done.stdout.splitlines() if line.startswith("run ")]
    return ends, done.stdout[-12_000:] + done.stderr[-4_000:]


def rows(folder: Path, table: str, *columns: str, **state: str) -> list[tuple[Any, ...]]:
    """Return the rows of a table, without Spark."""
    place: dict[str, Any] = {"warehouse": str(folder / "warehouse"), **state}
    found = arctic.read(table, columns=columns, **place).read_all()
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)
