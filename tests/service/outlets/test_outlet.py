"""Events told to others: what arrives, what is tried again, and that nobody waits."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest

from arctic.errors import InvalidInputError
from arctic.retry import RetryPolicy
from arctic.service import ending
from arctic.service.ending import Ending
from arctic.service.outlets import outlet
from arctic.service.outlets.command import command
from arctic.service.outlets.outlet import Outlet
from arctic.service.outlets.webhook import webhook
from tests.service.outlets.receiver import receiving


class Log(list[str]):
    """What the log was told."""

    def say(self, event: str, **facts: object) -> None:
        """Remember why something failed."""
        self.append(f"{facts.get('what')}: {facts.get('why')}")


@pytest.fixture
def log() -> Log:
    """Nothing yet."""
    return Log()


@pytest.fixture(autouse=True)
def _without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlet, "_RETRY", RetryPolicy(retries=2))


def test_an_event_arrives_though_the_first_answers_are_failures(log: Log) -> None:
    """A redirect is one: it is not followed. What is not told to outlets does not arrive."""
    with receiving(500, 302) as receiver:
        told = Outlet("webhook", webhook(receiver.url), log.say, Ending())
        with told.telling():
            told.say("found", table="db.t")
            told.say("optimized", table="db.t", seconds=1.5)
            arrived = receiver.wait_for("optimized")

    assert (arrived["table"], arrived["seconds"]) == ("db.t", 1.5)
    assert "at" in arrived
    assert [each["event"] for each in receiver.arrived] == ["optimized"]
    assert log == []


def test_a_receiver_that_fails_is_told_of_without_its_address(log: Log) -> None:
    """The next event arrives."""
    with receiving(503, 503, 503) as receiver:
        told = Outlet("webhook", webhook(receiver.url), log.say, Ending())
        with told.telling():
            told.say("failed", what="a")
            told.say("cleaned", table="db.t")
            receiver.wait_for("cleaned")
    gone = Outlet("webhook", webhook(receiver.url), log.say, Ending())
    with gone.telling():
        gone.say("optimized", table="db.t")

    assert log == [
        "telling the webhook: 127.0.0.1 answered 503; expected 200 to 299",
        "telling the webhook: ConnectionError at 127.0.0.1",
    ]


def test_nobody_waits_for_a_receiver_that_does_not_answer(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too much is dropped and counted."""
    monkeypatch.setattr(ending, "END_SECONDS", 0.01)
    held, begun = threading.Event(), threading.Event()

    def tell(_document: str) -> None:
        begun.set()
        held.wait(60)

    told = Outlet("webhook", tell, log.say, Ending())
    with told.telling():
        told.say("optimized", table="db.t")
        assert begun.wait(60)
        for _ in range(1_005):
            told.say("optimized", table="db.t")
    held.set()

    (said,) = log
    assert "events were dropped, as too many waited" in said


def test_a_command_is_given_each_event(tmp_path: Path, log: Log) -> None:
    """Without a shell; its failure is told of."""
    place = tmp_path / "told; rm -rf x"
    code = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + '\\n'); sys.exit(3)"
    words = command(f"{sys.executable} -c \"{code}\" '{place}'")
    told = Outlet("event-command", words, log.say, Ending())
    with told.telling():
        told.say("lagging", group="default")

    lines = place.read_text().splitlines()
    assert {json.loads(line)["group"] for line in lines} == {"default"}
    assert len(lines) == 3
    assert log == [f"telling the event-command: {sys.executable!r} ended with exit code 3"]


@pytest.mark.parametrize("url", ["ftp://host/x", "host/path", "http://", ""])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """Before anything begins."""
    with pytest.raises(InvalidInputError, match="webhook"):
        webhook(url)


@pytest.mark.parametrize("line", ["", "no-such-program-of-arctic x", "'open"])
def test_a_command_that_is_none_is_refused(line: str) -> None:
    """Before anything begins."""
    with pytest.raises(InvalidInputError, match="event command"):
        command(line)
