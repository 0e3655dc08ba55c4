"""The examples run as they are, in a process of their own."""

from __future__ import annotations

import runpy
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

import arctic

ROOT = Path(__file__).parent.parent


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def test_the_change_stream_equals_a_dictionary() -> None:
    """Inserts, updates and deletes of the same accounts over several commits."""
    outcome = _run("examples/change_stream.py")

    assert outcome.returncode == 0, outcome.stderr
    assert "equal to the dictionary: True" in outcome.stdout


def test_three_layers_follow_each_other_window_by_window() -> None:
    """Late rows, a writer that lags and brings an hour late: no window twice, none too early."""
    outcome = _run("-m", "examples.windows")

    assert outcome.returncode == 0, outcome.stderr + outcome.stdout
    assert "windows that were worked on: 10 of them twice: 0" in outcome.stdout
    assert "counted anew for clicks behind the watermark: 12:00, 12:20" in outcome.stdout
    assert "equal to the counts over all clicks at once: True" in outcome.stdout


def test_the_sensor_of_airflow_calls_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow is not here: its names are stood in for, what they are given is called for real."""
    made: list[tuple[str, dict[str, Any]]] = []

    class Made:
        def __init__(self, name: str, **given: Any) -> None:
            made.append((name, given))

        def __enter__(self) -> None:
            """Be the graph that operators belong to."""

        def __exit__(self, *_: object) -> None:
            """Be done."""

        def __rshift__(self, other: Made) -> Made:
            return other

    for module, name in (
        ("airflow.providers.standard.operators.bash", "BashOperator"),
        ("airflow.providers.standard.sensors.python", "PythonSensor"),
        ("airflow.sdk", "DAG"),
    ):
        stands_in = ModuleType(module)
        setattr(stands_in, name, partial(Made, name))
        monkeypatch.setitem(sys.modules, module, stands_in)
    names = runpy.run_path(str(ROOT / "examples" / "windows" / "airflow_sensor.py"))
    assert [name for name, _ in made] == ["DAG", "PythonSensor", "BashOperator"]

    noon = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)
    clicks = arctic.create_table(
        "web.clicks",
        pa.schema([("at", pa.timestamp("us", "UTC"))]),
        properties={"table.event-time-field": "at"},
        warehouse=str(tmp_path),
    )
    clicks.write(pa.table({"at": [noon]}))
    here = partial(arctic.ready, warehouse=str(tmp_path))
    monkeypatch.setattr(
        names["arctic"], "ready", lambda table, until, warehouse: here(table, until)
    )
    sees = made[1][1]["python_callable"]
    assert [sees(noon - timedelta(hours=1)), sees(noon + timedelta(hours=1))] == [True, False]


@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_proves_itself_on_few_weeks() -> None:
    """Load, upsert, delete, optimize: four readings are compared with DuckDB row by row."""
    outcome = _run("-m", "examples.demo", "--load", "1", "--weeks", "3")

    assert outcome.returncode == 0, outcome.stderr[-4_000:]
    assert outcome.stdout.count(" equal ") == 4
    assert "Every row equals what DuckDB computes" in outcome.stdout


@pytest.mark.parametrize("weeks", ["2", "54"])
def test_the_demo_refuses_weeks_that_the_year_has_not(weeks: str) -> None:
    """A wrong argument is a usage error, before Spark starts."""
    outcome = _run("-m", "examples.demo", "--load", "1", "--weeks", weeks)

    assert outcome.returncode == 2
    assert "WEEKS <= 53" in outcome.stderr
