"""The commands that share tables with other engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

import arctic
from arctic.cli.main import main
from tests.iceberg.plain_readers import by_pyiceberg, plain_catalog


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[Any, str, str]:
    """Run the command line; return its exit code and what it printed."""
    with pytest.raises(SystemExit) as left:
        main(arguments)
    printed = capsys.readouterr()
    return left.value.code, printed.out, printed.err


def test_a_table_is_published_and_no_longer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Text for people, JSON for programs; a table that is not there is one line."""
    place = ("--warehouse", str(tmp_path))
    rows = pa.table({"id": [1, 2]})
    arctic.write("db.t", rows, mode="upsert", options={"primaryKey": "id"}, warehouse=str(tmp_path))

    code, out, _ = run(capsys, "publish", "db.t", *place)
    assert (code, out.startswith("db.t: published as db.t_fresh")) == (0, True)
    code, out, _ = run(capsys, "publish", "db.t", *place, "--output", "json")
    assert json.loads(out)["snapshot_id"] is None
    assert by_pyiceberg(tmp_path, "db.t_fresh").num_rows == 2

    code, out, _ = run(capsys, "unpublish", "db.t", *place, "--output", "json")
    assert json.loads(out) == {"table": "db.t", "dropped": ["db.t_fresh"]}
    code, out, _ = run(capsys, "unpublish", "db.t", *place)
    assert "it is not published" in out
    code, _, err = run(capsys, "publish", "db.nothing", *place)
    assert (code, err.startswith("arctic: table 'db.nothing' not found")) == (1, True)


def test_a_plain_table_is_adopted_repaired_and_released(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command says what it did."""
    place = ("--warehouse", str(tmp_path))
    arctic.create_table("db.other", pa.schema([("id", pa.int64())]), warehouse=str(tmp_path))
    with plain_catalog(tmp_path) as catalog:
        columns = Schema(NestedField(1, "id", LongType(), required=False))
        catalog.create_table("db.t", columns).append(pa.table({"id": [1, 2]}))

    code, out, _ = run(capsys, "repair", "db.t", *place)
    assert (code, out.strip()) == (0, "db.t: has no equality deletes")
    code, out, _ = run(capsys, "repair", "db.t", *place, "--output", "json")
    assert json.loads(out)["removed"] == 0
    code, out, _ = run(capsys, "adopt", "db.t", "--primary-key", "id", *place)
    assert (code, "primary key id" in out) == (0, True)
    assert arctic.open_table("db.t", warehouse=str(tmp_path)).primary_key == ("id",)
    code, out, _ = run(capsys, "release", "db.t", *place)
    assert (code, "plain Iceberg table now" in out) == (0, True)
    code, out, _ = run(
        capsys, "adopt", "db.t", "--primary-key", "id", "--trust-key", *place, "--output", "json"
    )
    assert json.loads(out)["primary_key"] == ["id"]
    code, out, _ = run(capsys, "release", "db.t", *place, "--output", "json")
    assert json.loads(out)["released"] is True
