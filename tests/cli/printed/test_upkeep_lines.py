"""``arctic status`` and ``arctic optimize``, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.cli.main import main
from arctic.cli.printed import upkeep_lines as rendering

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("city", pa.string())])
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """A table of two partitions, each divided, and written to three times."""
    place = str(tmp_path)
    table = arctic.create_table(
        "shop.users",
        SCHEMA,
        primary_key=["id", "city"],
        partition_by=["city"],
        warehouse=place,
        properties={"base.file-index.hash-bucket": "4"},
    )
    for _ in range(3):
        rows = [{"id": number, "city": city} for number in range(8) for city in ("Rome", "Oslo")]
        table.write(pa.Table.from_pylist(rows, schema=SCHEMA), mode="upsert")
    return place


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], warehouse: str) -> Command:
    """Run the command line in this process, on the warehouse."""

    def command(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main([*arguments, "--warehouse", warehouse])
        captured = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return left.value.code, captured.out, captured.err

    return command


def test_status_says_what_is_due_and_why(run: Command) -> None:
    """Health, what is due, and a line for each partition; without colours where nobody looks."""
    code, out, err = run("status", "shop.users")

    assert (code, err) == (0, "")
    assert "minor: 12 fragments + 12 change delete files >= 12 (city=Oslo)" in out
    for text in ("health", "of 100", "city=Rome", "city=Oslo", "change_deletes", "0.0%"):
        assert text in out
    assert "\x1b" not in out


def test_status_as_json_has_everything(run: Command) -> None:
    """One document with all counts."""
    code, out, _ = run("status", "shop.users", "--output", "json")
    document: dict[str, Any] = json.loads(out)
    first = document["partitions"][0]

    assert code == 0
    assert (document["table"], document["due"]) == ("shop.users", "minor")
    assert document["reason"].startswith("minor: 12 fragments")
    assert 0 < document["score"] < 100
    assert [each["partition"] for each in document["partitions"]] == ["city=Oslo", "city=Rome"]
    assert first["verdict"]["type"] == "minor"
    assert first["health"]["inserts"] == {
        "files": 12,
        "rows": 24,
        "bytes": first["health"]["inserts"]["bytes"],
    }
    assert 0 < first["score"] < 100


def test_status_lists_the_worst_partitions_first_and_says_how_many_more(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here one of two."""
    monkeypatch.setattr(rendering, "SHOWN_PARTITIONS", 1)
    run("optimize", "shop.users", "--where", "city = 'Oslo'")
    _, out, _ = run("status", "shop.users")

    assert "city=Rome" in out
    assert "city=Oslo" not in out
    assert "... and 1 more; --output json lists all" in out


def test_optimize_does_what_is_due(run: Command) -> None:
    """Says what became of the files; then there is nothing left to do."""
    code, out, err = run("optimize", "shop.users")
    again = run("optimize", "shop.users")

    assert (code, err) == (0, "")
    assert out.startswith("shop.users: minor of 2 partitions in ")
    assert "unmerged inserts  24 files of 48 rows -> 0 of 0" in out
    assert "base files        0 files of 0 rows -> 8 of 16" in out
    assert again == (0, "shop.users: nothing to optimize\n", "")


def test_optimize_takes_a_type_and_partitions(run: Command) -> None:
    """As JSON, with the same numbers."""
    code, out, _ = run(
        "optimize", "shop.users", "--type", "full", "--where", "city = 'Rome'", "--output", "json"
    )
    document: dict[str, Any] = json.loads(out)

    assert code == 0
    assert (document["type"], document["attempts"], document["rows_written"]) == ("full", 1, 8)
    assert [each["partition"] for each in document["partitions"]] == ["city=Rome"]
    assert document["after"]["base"]["files"] == 4


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("optimize", "shop.users", "--type", "huge"), "huge"),
        (("optimize", "shop.users", "--where", "nothing = 1"), "nothing"),
        (("status", "shop.nobody"), "shop.nobody"),
    ],
)
def test_a_mistake_is_one_sentence(run: Command, arguments: tuple[str, ...], text: str) -> None:
    """On standard error, and the exit code says so."""
    code, out, err = run(*arguments)

    assert code != 0
    assert out == ""
    assert text in err
    assert "Traceback" not in err
