from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from arctic.cli.printed.render import (
    cell_text,
    json_value,
    print_facts,
    print_json,
    print_rows,
    python_rows,
)

TIME = dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.timezone.utc)

CELLS: list[tuple[Any, str]] = [
    (None, "null"),
    (True, "true"),
    (1.5, "1.5"),
    (Decimal("1.20"), "1.20"),
    (TIME, "2024-02-29 12:30:00+00:00"),
    (dt.date(2024, 2, 29), "2024-02-29"),
    (b"\x00\xff", "0x00ff"),
    ([1, None], "1, null"),
    ([("k", "v")], "k, v"),
    ({"a": dt.date(2024, 2, 29)}, '{"a": "2024-02-29"}'),
    ("[bold]text[/bold]", "[bold]text[/bold]"),
]


@pytest.mark.parametrize(("value", "text"), CELLS, ids=[repr(value) for value, _ in CELLS])
def test_a_cell_shows_the_value(value: Any, text: str) -> None:
    """Nulls are told from empty text, bytes are readable, nothing is markup."""
    assert cell_text(value) == text


def test_json_is_strict() -> None:
    """Every value that Arrow can hold becomes valid JSON, numbers that JSON lacks as text."""
    value = {"n": float("nan"), "t": TIME, "d": Decimal("1.20"), "b": b"key", "l": [(1, None)]}

    assert json.loads(json.dumps(json_value(value), allow_nan=False)) == {
        "n": "nan",
        "t": "2024-02-29T12:30:00+00:00",
        "d": "1.20",
        "b": "a2V5",
        "l": [[1, None]],
    }


def test_days_that_python_lacks_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Iceberg has them; those beside them are as ever."""
    later = pa.array([253_402_300_800_000_000, None, 0], pa.timestamp("us", "UTC"))
    rows = pa.table({"at": later, "day": pa.array([-719_163, None, 0], pa.date32())})

    assert [row["at"] for row in python_rows(rows)] == [
        "10000-01-01T00:00:00",
        None,
        "1970-01-01T00:00:00",
    ]
    print_rows(rows)
    assert "0000-12-31" in capsys.readouterr().out


def test_rows_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Square brackets in data are data; long values are not cut outside a terminal."""
    long = "x" * 300
    print_rows(pa.table({"n": [1, 22], "text": ["[red]a", long]}), title="rows")

    printed = capsys.readouterr().out
    assert "[red]a" in printed
    assert long in printed
    assert " 1 " in printed.splitlines()[3], "numbers stand to the right"


def test_an_empty_table_shows_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """So that it is seen what is empty."""
    print_rows(pa.table({"city": pa.array([], pa.string())}))

    assert capsys.readouterr().out.strip() == "city"


def test_facts_stand_in_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """Names on the left, values in one column."""
    print_facts({"a": 1, "long name": None})

    assert capsys.readouterr().out == "a         1\nlong name null\n"


def test_json_is_not_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    """A long line stays one, or it would not be JSON."""
    print_json({"text": "y" * 9_000})

    assert json.loads(capsys.readouterr().out) == {"text": "y" * 9_000}
