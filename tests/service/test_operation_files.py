"""The files of examples/service: each command, option and path that they name is there."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import sys
from configparser import ConfigParser
from pathlib import Path

import click

from arctic.cli import signals
from arctic.cli.serving import serve

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "examples" / "service"


def test_the_unit_begins_a_command_that_there_is_and_lets_it_end() -> None:
    """With more time than the service takes at most; and no line is written twice."""
    unit = ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(PLACE / "arctic.service")
    service = unit["Service"]

    given = _given(service["ExecStart"])

    assert given == {"config": "/etc/arctic/arctic.toml"}
    assert int(service["TimeoutStopSec"]) > signals.MOST_STOP_SECONDS
    kept = tomllib.loads((PLACE / "arctic.toml").read_text())["history"]
    assert kept.startswith(f"/var/lib/{service['StateDirectory']}/")


def test_the_image_is_made_of_what_is_there() -> None:
    """Its extras, its settings, the address that it is asked at, and how it is begun."""
    steps = _steps((PLACE / "Containerfile").read_text())
    extras = re.search(r"\.\[([\w,]+)\]", steps["RUN"][0])
    assert extras is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras[1].split(",")) <= project["optional-dependencies"].keys()

    taken = [each for line in steps["COPY"] for each in line.split()[:-1]]
    assert {"arctic", "pyproject.toml"} <= set(taken)
    assert [each for each in taken if not (ROOT / each).exists()] == []

    settings = dict(each.split("=") for each in shlex.split(steps["ENV"][0]))
    options = {f"ARCTIC_SERVE_{each.name}".upper() for each in serve.params if each.name}
    assert settings.keys() <= options
    port = settings["ARCTIC_SERVE_HTTP"].rpartition(":")[2]
    assert steps["EXPOSE"] == [port]
    assert f"http://127.0.0.1:{port}/health" in steps["HEALTHCHECK"][0]
    assert _given(shlex.join(json.loads(steps["ENTRYPOINT"][0]))) == {}


def test_cron_and_airflow_do_one_round() -> None:
    """By the same command, and one of them at a time."""
    (line,) = [
        line for line in (PLACE / "crontab").read_text().splitlines() if not line.startswith("#")
    ]
    schedule, command = line.split(" ", 5)[:5], line.split(" ", 5)[5]
    assert len(schedule) == 5
    lock, file, begun = re.fullmatch(r"(flock -n) (\S+) (.*)", command).groups()  # type: ignore[union-attr]
    assert (lock, os.path.isabs(file)) == ("flock -n", True)
    assert _given(begun)["once"] is True

    asked = {
        keyword.arg: ast.literal_eval(keyword.value)
        for call in ast.walk(ast.parse((PLACE / "airflow_dag.py").read_text()))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg in ("bash_command", "max_active_runs")
    }
    assert _given(asked["bash_command"])["once"] is True
    assert asked["max_active_runs"] == 1


def _given(line: str) -> dict[str, object]:
    """Return the options of a line that begins a service, as the command itself reads them."""
    program, verb, *arguments = shlex.split(line)
    assert (Path(program).name, verb) == ("arctic", "serve")
    context = click.Context(serve, info_name="serve")
    given, left, _ = serve.make_parser(context).parse_args(arguments)
    assert left == []
    return {name: value for name, value in given.items() if value is not None}


def _steps(text: str) -> dict[str, list[str]]:
    """Return the steps of a container file by their names, each with its lines joined."""
    found: dict[str, list[str]] = {}
    for line in re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.M)).splitlines():
        name, _, rest = line.partition(" ")
        found.setdefault(name, []).append(rest.strip())
    return found
