"""Files of a write that no snapshot refers to, and that none ever will."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from arctic.writing.target import TaskResult, WriteTarget


def delete_results(target: WriteTarget, results: Sequence[TaskResult]) -> None:
    """Delete the files of tasks, as far as possible."""
    target.delete_files([file.path for each in results for file in each.files])


@contextmanager
def deleted_on_failure(target: WriteTarget, *results: Sequence[TaskResult]) -> Iterator[None]:
    """Delete the files of tasks when anything fails; for what precedes an attempt to commit."""
    try:
        yield
    except BaseException:
        for each in results:
            delete_results(target, each)
        raise
