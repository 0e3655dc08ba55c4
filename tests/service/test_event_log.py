"""Lines of events: no secrets, one line each."""

from __future__ import annotations

import json
import logging

import pytest

from arctic.errors import StorageError
from arctic.service.event_log import json_line, said_to, say_to_log, text_line, why


def test_a_failure_is_said_on_one_line_without_its_secrets() -> None:
    """With its kind; a failure without a text has only that."""
    error = StorageError("catalog 'postgresql://me:geheim@host/db':\n no answer")

    assert "geheim" not in why(error)
    assert why(error).startswith("StorageError: catalog ")
    assert "\n" not in text_line("failed", why=why(error))
    assert why(KeyError()) == "KeyError"


def test_a_line_for_programs_takes_any_fact() -> None:
    """And is one document."""
    line = json_line("serving", groups={"default": 2}, reason="a\nb", other=KeyError)

    assert "\n" not in line
    assert json.loads(line)["groups"] == {"default": 2}


def test_who_gives_no_listener_finds_events_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Under the name of the service."""
    with caplog.at_level(logging.INFO, logger="arctic.service"):
        say_to_log("would clean", table="db.t", notes=None, bytes=0)

    assert caplog.messages == ["would-clean table=db.t bytes=0"]


def test_a_listener_that_fails_keeps_nobody_from_hearing(caplog: pytest.LogCaptureFixture) -> None:
    """A terminal that was closed would end the thread that works on a table."""
    heard: list[str] = []

    def closed(event: str, **facts: object) -> None:
        raise BrokenPipeError

    said_to(closed, lambda event, **facts: heard.append(event))("optimized", table="db.t")

    assert heard == ["optimized"]
    assert "event 'optimized' was not said: BrokenPipeError" in caplog.text
