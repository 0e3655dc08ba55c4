"""An executor that is a process: its answers, its failures and its death."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from arctic.errors import ConflictError
from arctic.job.tasks.run_tasks import Task
from arctic.service.executors import worker_process
from arctic.service.executors.process_place import ProcessPlace
from arctic.service.executors.task_place import LostPlaceError


@pytest.fixture
def place() -> Iterator[ProcessPlace]:
    """A place that is closed at the end."""
    made = ProcessPlace()
    yield made
    made.close()


def _run(place: ProcessPlace, work: object, value: object) -> object:
    return place.run(work, Task(value=value, rows=1))  # type: ignore[arg-type]


class Unpicklable(Exception):
    """An error that another process cannot make again."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


def noisy(value: int) -> int:
    """Print, and double."""
    print("noise" * 100)
    return value * 2


def refuse(message: str) -> None:
    """Fail with an error of ours."""
    raise ConflictError(message)


def refuse_oddly(message: str) -> None:
    """Fail with an error that does not travel."""
    raise Unpicklable(message, "!")


def told_to_end(number: int) -> int:
    """Be sent a signal in the middle of a task."""
    os.kill(os.getpid(), number)
    return number


def die(code: int) -> None:
    """End the process."""
    os._exit(code)


def test_a_signal_to_all_processes_lets_a_task_finish(place: ProcessPlace) -> None:
    """As systemd sends one, and a terminal."""
    signals = [signal.SIGTERM, signal.SIGINT]
    assert [_run(place, told_to_end, int(number)) for number in signals] == signals


def test_results_and_errors_come_back_whatever_a_task_prints(place: ProcessPlace) -> None:
    """All from one process, which lives on after a failure."""
    first = _run(place, os.getpgid, 0), _run(place, noisy, 21)
    with pytest.raises(ConflictError, match="won"):
        _run(place, refuse, "another won")
    with pytest.raises(RuntimeError, match="Unpicklable: odd!"):
        _run(place, refuse_oddly, "odd")

    assert first[1] == 42
    assert _run(place, noisy, 4) == 8


def test_a_process_that_dies_is_lost_and_the_next_task_has_another(place: ProcessPlace) -> None:
    """The error says how it died."""
    before = _run(place, eval, "__import__('os').getpid()")
    with pytest.raises(LostPlaceError, match="exit code"):
        _run(place, die, 9)
    after = _run(place, eval, "__import__('os').getpid()")

    assert len({before, after, os.getpid()}) == 3


def test_a_place_that_is_closed_begins_no_process_any_more(place: ProcessPlace) -> None:
    """The one that there was is gone."""
    pid = _run(place, eval, "__import__('os').getpid()")
    place.close()

    assert isinstance(pid, int)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(LostPlaceError):
        _run(place, noisy, 1)


def test_a_process_whose_service_was_killed_in_its_task_ends_without_a_word() -> None:
    """What it prints would stand in the log of whoever began the service."""
    worker = subprocess.Popen(
        [sys.executable, "-m", worker_process.__name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdout.close()
    worker_process.send(worker.stdin, pickle.dumps((told_to_end, signal.SIGTERM)))

    _, said = worker.communicate(timeout=60)

    assert (worker.returncode, said) == (0, b"")
