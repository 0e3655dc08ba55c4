"""One round for several catalogs, without a face."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import arctic
from arctic.errors import InvalidInputError, NotFoundError
from arctic.job.upkeep.optimize_job import optimize_table
from arctic.service import ending, table_work
from tests.http.test_catalogs_app import catalog_of
from tests.service.lake import Lake
from tests.service.outlets.receiver import receiving

QUIET = {"table-expire.enabled": "false"}


def test_one_round_does_what_is_due_in_each_and_then_names_the_one_that_is_away(
    tmp_path: Path,
) -> None:
    """Its failure is raised when the others are done; each event names its catalog."""
    lakes = {name: Lake(tmp_path / name) for name in ("prod", "dev", "gone")}
    for name in ("prod", "dev"):
        lakes[name].make("db.t")
    catalogs = {name: catalog_of(lake) for name, lake in lakes.items()}
    said = lakes["prod"]

    with pytest.raises(NotFoundError, match="gone"):
        arctic.serve(once=True, catalogs=catalogs, groups={"default": 1}, say=said.say)

    done = {facts["catalog"] for event, facts in said.said if event == "optimized"}
    assert done == {"prod", "dev"}
    assert {facts["catalog"] for event, facts in said.said if event == "failed"} == {"gone"}


def test_the_round_of_one_that_takes_long_is_told_of_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other has been done for longer than an end takes."""
    monkeypatch.setattr(ending, "END_SECONDS", 2.0)
    lakes = {name: Lake(tmp_path / name) for name in ("long", "short")}
    lakes["short"].make("db.t", **QUIET, **{"self-optimizing.enabled": "false"})
    lakes["long"].make("db.t", **QUIET)
    said = Lake(tmp_path)

    def slow(*args: Any, **options: Any) -> Any:
        with said.spoke:
            assert said.spoke.wait_for(lambda: _of("short", "stopped", said), timeout=60)
        time.sleep(2.5)
        return optimize_table(*args, **options)

    monkeypatch.setattr(table_work, "optimize_table", slow)
    with receiving() as receiver:
        arctic.serve(
            once=True,
            catalogs={name: catalog_of(lake) for name, lake in lakes.items()},
            groups={"default": 1},
            webhook=receiver.url,
            say=said.say,
        )

    told = {(each["catalog"], each["event"]) for each in receiver.arrived}
    assert {("long", "optimized"), ("long", "stopped")} <= told


def _of(catalog: str, event: str, lake: Lake) -> bool:
    return any(said == event and facts.get("catalog") == catalog for said, facts in lake.said)


def test_several_are_not_named_beside_one(tmp_path: Path) -> None:
    """Nobody would know which of them is meant."""
    with pytest.raises(InvalidInputError, match="catalogs beside catalog or warehouse"):
        arctic.serve(once=True, catalogs={"prod": "prod"}, warehouse=str(tmp_path))


def test_the_command_takes_several_from_a_file(tmp_path: Path) -> None:
    """As PyIceberg's configuration knows them; a single one may stand there as a text."""
    known = {}
    for name in ("prod", "dev"):
        lake = Lake(tmp_path / name)
        lake.make("db.t")  # A catalog of its own in the file, which makes the file.
        for key, text in catalog_of(lake).items():
            known[f"PYICEBERG_CATALOG__{name.upper()}__{key.upper()}"] = text
    file = tmp_path / "arctic.toml"
    command = [sys.executable, "-m", "arctic.cli", "serve", "--once", "--config", str(file)]
    for given, expected in (('["prod", "dev"]', {"prod", "dev"}), ('"prod"', {None})):
        file.write_text(f'catalog = {given}\noutput = "json"\n[group]\ndefault = 1\n')
        # The configuration is read when PyIceberg is imported.
        done = subprocess.run(
            command, env=os.environ | known, capture_output=True, text=True, check=True
        )
        events = [json.loads(line) for line in done.stdout.splitlines()]

        assert {each.get("catalog") for each in events if each["event"] == "serving"} == expected
