"""What a write that fails takes back: files that no snapshot refers to, a table that it made."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from arctic.errors import ArcticError, CommitStateUnknownError
from arctic.iceberg.tables.new_table import NewTable, new_tables, take_back
from arctic.writing.target import TaskResult, WriteTarget

_log = logging.getLogger(__name__)


@contextmanager
def taken_back_on_failure() -> Iterator[Sequence[NewTable]]:
    """Drop the tables that the block makes when it fails, unless somebody wrote to them.

    Yields:
        What it has made so far.

    Raises:
        ArcticError: that of the block; it says so when the table could not be dropped.
    """
    with new_tables() as made:
        try:
            yield made
        except CommitStateUnknownError:
            raise
        except ArcticError as error:
            stay = [why for new in made if (why := take_back(new)) is not None]
            if stay:
                raise type(error)("; ".join([error.message, *stay])) from error
            raise
        except BaseException:
            take_back_all(made)
            raise


def take_back_all(made: Sequence[NewTable]) -> None:
    """Drop tables whose first write failed, unless somebody wrote to them."""
    for new in made:
        why = take_back(new)
        if why is not None:
            _log.warning("%s", why)


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
