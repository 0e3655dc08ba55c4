"""Options from a file and the environment: which wins, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arctic.cli import serving
from arctic.cli.main import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "service" / "arctic.toml"
FILE = """
warehouse = "/of-the-file"
interval = 7
clean_every = 9.5
http = "127.0.0.1:1"
output = "json"
[group]
default = 3
etl = 2
[executor]
etl = "process"
"""


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the verb was called with."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(serving, "serve_tables", lambda **options: found.update(options))
    return found


def _serve(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as left:
        main(("serve", *arguments))
    return left.value.code


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(
    tmp_path: Path, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What none of them says has its default."""
    file = tmp_path / "arctic.toml"
    file.write_text(FILE)
    monkeypatch.setenv("ARCTIC_SERVE_INTERVAL", "8")
    monkeypatch.setenv("ARCTIC_SERVE_HTTP", "127.0.0.1:2")

    assert _serve("--config", str(file), "--interval", "9") == 0

    assert given["interval_seconds"] == 9
    assert given["http"] == "127.0.0.1:2"
    assert given["clean_every_seconds"] == 9.5
    assert given["warehouse"] == "/of-the-file"
    assert given["groups"] == {"default": 3, "etl": 2}
    assert given["executors"] == {"etl": "process"}
    assert given["threads"] == 10


def test_the_file_may_be_named_by_the_environment(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example is one."""
    monkeypatch.setenv("ARCTIC_SERVE_CONFIG", str(EXAMPLE))
    assert _serve() == 0
    assert given["history"] == "/var/lib/arctic/history.db"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("intervall = 1", "unknown option 'intervall'; did you mean 'interval'?"),
        ("interval = ", "is no TOML"),
        ("interval = 'soon'", "'soon' is not a valid float"),
        ("interval = -1", "--interval"),
        ("group = ['etl']", "expected NAME=SLOTS"),
        ("config = 'other.toml'", "unknown option 'config'"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    """With what was expected."""
    file = tmp_path / "arctic.toml"
    file.write_text(text)

    code = _serve("--config", str(file))
    error = capsys.readouterr().err

    assert code in (1, 2)
    assert said in error
    assert error.count("\n") == 1


def test_a_file_that_is_not_there_is_said_to_be_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its name."""
    assert _serve("--config", str(tmp_path / "no.toml")) == 1
    assert "no.toml" in capsys.readouterr().err
