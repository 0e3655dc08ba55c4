"""``arctic serve``: one round, bad words, and a process that is told to end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import arctic
from arctic.cli.main import main
from arctic.errors import InvalidInputError, NotFoundError
from tests.service.lake import Lake

PATIENCE_SECONDS = 300


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int | str | None, str, str]:
    with pytest.raises(SystemExit) as left:
        main(("serve", *arguments))
    captured = capsys.readouterr()
    return left.value.code, captured.out, captured.err


def test_once_does_what_is_due_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One event a line, for people and for programs."""
    lake = Lake(tmp_path)
    lake.make("db.t")

    code, out, err = _run(
        capsys, "--once", "--group", "default=1", "--warehouse", lake.warehouse, "--output", "json"
    )
    events = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert {"serving", "found", "optimized", "would clean", "stopped"} == {
        each["event"] for each in events
    }
    assert next(each for each in events if each["event"] == "optimized")["type"] == "minor"

    code, out, err = _run(capsys, "--once", "--warehouse", lake.warehouse)
    assert (code, err) == (0, "")
    assert "found table=db.t group=default" in out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--group", "etl"), 2, "expected NAME=SLOTS"),
        (("--group", "etl=0"), 1, "group 'etl' of 0 slots; expected 1 or more"),
        (("--group", "a b=1"), 1, "group 'a b'; expected letters"),
        (("--scheduler", "fair"), 2, "'fair' is not one of"),
        (("--interval", "0"), 2, "--interval"),
        (("--warehouse", "missing"), 1, "missing"),
    ],
)
def test_bad_words_are_refused_before_anything_begins(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    """In one line."""
    monkeypatch.chdir(tmp_path)
    left, out, err = _run(capsys, "--once", *arguments)

    assert (left, out) == (code, "")
    assert said in err
    assert err.count("\n") == 1


def test_the_verb_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    """As the command does."""
    with pytest.raises(InvalidInputError, match="scheduler 'fair'; expected one of balanced"):
        arctic.serve(once=True, scheduler="fair", warehouse=str(tmp_path))
    with pytest.raises(InvalidInputError, match="interval_seconds nan; expected a number above 0"):
        arctic.serve(once=True, interval_seconds=float("nan"), warehouse=str(tmp_path))
    with pytest.raises(NotFoundError):
        arctic.serve(once=True, warehouse=str(tmp_path / "missing"))


def test_a_process_that_is_told_to_end_does(tmp_path: Path) -> None:
    """With exit code 0, and a last line."""
    lake = Lake(tmp_path)
    lake.make("db.t")
    command = [sys.executable, "-m", "arctic.cli", "serve", "--warehouse", lake.warehouse]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        too_long = threading.Timer(PATIENCE_SECONDS, process.kill)
        too_long.start()
        said = []
        for line in process.stdout:
            said.append(line.split(" ", 1)[1])
            if line.split(" ")[1] == "found":
                process.send_signal(signal.SIGTERM)
        code = process.wait()
        too_long.cancel()
    assert code == 0
    assert said[0].startswith("serving ")
    assert said[-1].startswith("stopped ")


def test_a_process_that_cannot_end_is_left_all_the_same() -> None:
    """A thread that waits for an answer for ever would keep it; its code says that it was cut."""
    stuck = """
import os, signal, threading
from arctic.cli import signals
signals.MOST_STOP_SECONDS = 0.1
threading.Thread(target=threading.Event().wait).start()
with signals.stopped_by_signals() as stop:
    os.kill(os.getpid(), signal.SIGTERM)
    stop.wait()
"""
    assert subprocess.run([sys.executable, "-c", stuck], timeout=60, check=False).returncode == 1
