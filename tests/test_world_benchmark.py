"""``make bench-world``: the commands that it runs."""

from __future__ import annotations

import argparse

import pytest

from benchmarks import world


@pytest.mark.parametrize("name", world.COMMANDS)
def test_each_command_is_small_or_writes_the_page(name: str) -> None:
    """A try has sizes of its own and leaves the page alone; systems are handed on."""
    small = argparse.Namespace(small=True, systems="arctic", note="tried")
    whole = argparse.Namespace(small=False, systems=None, note="")

    assert world.command(name, small)[-2:] == ["--systems", "arctic"]
    assert "--write-docs" not in world.command(name, small)
    assert world.command(name, whole)[-1] == "--write-docs"


def test_a_try_runs_with_arctic_alone(capfd: pytest.CaptureFixture[str]) -> None:
    """The figures and whether they are right are printed, and so is the time."""
    assert world.main(["--small", "--only", "drift", "--systems", "arctic"]) == 0

    said = capfd.readouterr().out
    assert "answers: equal; rows: equal" in said
    assert "drift: " in said


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The message names those that there are."""
    with pytest.raises(SystemExit):
        world.main(["--only", "cha,peers,x"])

    assert "expected some of peers, drift, tpch, ch" in capsys.readouterr().err
