"""Asking the catalog for attempts at commits: for one alone, or for several that land together.

An attempt may have been decided by another store of its table, which must then be as it was. A
catalog in a database compares that one in the same transaction; one behind REST, where it takes
commits to several tables, in one request. So do several attempts land together there, each to a
store of its own. Any other catalog is asked for one after the other.

Rules of such a request:
    - A store that is only compared gets a property: some servers compare only what changes.
    - It stands first: a server that commits one table after the other has then seen it unmoved.
    - The answer tells no metadata, and not every server that says yes has done it. So each store
      is loaded: a snapshot that is not there lost its race to another one, or nobody knows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from functools import partial
from typing import Protocol

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.table import Table

from arctic.errors import ArcticError, ConflictError
from arctic.iceberg.catalogs.in_database.several_tables import commit_several
from arctic.iceberg.catalogs.in_database.transaction_end import only_while_unmoved
from arctic.iceberg.catalogs.over_http.timed_rest import TimedRestCatalog
from arctic.iceberg.catalogs.refresh import newest, refresh
from arctic.iceberg.catalogs.staged_metadata import TableCommit
from arctic.iceberg.commits.asking.marked_stores import mark_of, send_marked
from arctic.iceberg.commits.asking.staged_snapshot import OtherStore, StagedSnapshot
from arctic.iceberg.metadata.history import lineage, would_know

Outcome = Exception | None
"""What the catalog made of an attempt: ``CommitFailedException``, which says that it did not land;
any other exception, after which it may have; None: it landed."""


class Company(Protocol):
    """Other writes, along with whose attempts those of a thread are asked for."""

    def wait_for_others(self, attempt: StagedSnapshot) -> Outcome:
        """Return what came of an attempt, when it was asked for."""

    def pause(self, seconds: float) -> None:
        """Wait before another attempt, unless all have waited for another one of them."""


WITH_OTHERS: ContextVar[Company | None] = ContextVar("with_others", default=None)
"""What a thread's attempts are asked for along with; None: each is asked for alone."""

_OVERTAKEN = ("older than last sequence number", "smaller than the table's next-row-id")
"""How PyIceberg and Java refuse numbers that another snapshot has taken; nothing landed then."""

_MOST_ROWS = 100_000
"""Rows that may have come to the other store for it to be looked at while others wait."""


class AbandonedError(ArcticError):
    """An attempt was not asked for, because another write has failed, whose error is raised.

    No ``ConflictError``: nobody was faster, and to try again is of no use.
    """


def ask_for(attempt: StagedSnapshot) -> None:
    """Ask the catalog for an attempt, along with those of other writes where there are any.

    Raises:
        CommitFailedException: it did not land.
        AbandonedError: neither; nobody has asked.
        Exception: it may have landed.
    """
    others = WITH_OTHERS.get()
    outcome = sent([attempt])[0] if others is None else others.wait_for_others(attempt)
    if outcome is not None:
        raise outcome


def pause(seconds: float) -> None:
    """Wait before an attempt of this thread is built anew."""
    others = WITH_OTHERS.get()
    if others is None:
        time.sleep(seconds)
    else:
        others.pause(seconds)


def is_overtaken(attempt: StagedSnapshot) -> bool:
    """Say whether a store that an attempt lies on, or was decided by, is another one by now.

    So it is too where nobody can say.
    """
    try:
        return any(
            newest(store).metadata_location != store.metadata_location
            for store in _stores([attempt])
        )
    except ArcticError:
        return True


def access_to(catalog: Catalog) -> Hashable:
    """Return what is the same of two objects that reach the same catalog, as the same user."""
    access = tuple(sorted((name, str(text)) for name, text in catalog.properties.items()))
    return type(catalog), catalog.name, access


def sent(attempts: Sequence[StagedSnapshot]) -> list[Outcome]:
    """Ask the catalog once for attempts, each at a commit to a store of its own.

    Another commit has won where it was one to another branch too, which leaves the head of this one
    as it was.

    Returns:
        What came of each; the same of all, where the catalog commits to them at once.
    """
    catalog = attempts[0].table.catalog
    if len({access_to(each.table.catalog) for each in attempts}) == 1:
        if isinstance(catalog, SqlCatalog):
            return [_said_by(partial(_send_in_database, catalog, attempts))] * len(attempts)
        if isinstance(catalog, TimedRestCatalog) and catalog.commits_several(_stores(attempts)):
            return _sent_in_one_request(catalog, attempts)
    if len(attempts) == 1:
        return [_said_by(partial(_send_beside, attempts[0]))]
    # Of each alone, the catalog may still compare both stores.
    return [outcome for each in attempts for outcome in sent([each])]


def _said_by(ask: Callable[[], None]) -> Outcome:
    try:
        ask()
    except Exception as error:  # noqa: BLE001 - whatever it is, the commit may have landed
        if any(said in str(error) for said in _OVERTAKEN):
            overtaken = CommitFailedException(str(error))
            overtaken.__cause__ = error
            return overtaken
        return error
    return None


def _send_alone(attempt: StagedSnapshot) -> None:
    attempt.table._do_commit(updates=attempt.updates, requirements=attempt.requirements)


def _send_beside(attempt: StagedSnapshot) -> None:
    if attempt.other is None:
        _send_alone(attempt)
    else:
        send_marked(attempt, attempt.other)


def _send_in_database(catalog: SqlCatalog, attempts: Sequence[StagedSnapshot]) -> None:
    with ExitStack() as conditions:
        for other in _others(attempts):
            # Where nobody can say, nothing is read of the other store while others wait.
            look = None if other.look_again is None else partial(_look_at_few, other)
            conditions.enter_context(only_while_unmoved(other.store, look))
        if len(attempts) == 1:
            attempts[0].metadata.discard()  # of a time when there were others
            _send_alone(attempts[0])
        else:
            commit_several(catalog, [_commit_of(each) for each in attempts])


def _look_at_few(seen: OtherStore, moved: Table) -> None:
    if seen.look_again is None or not _has_few_more(moved, seen.store.metadata.current_snapshot_id):
        raise ConflictError(f"table {'.'.join(moved.name())!r} was committed to meanwhile")
    seen.look_again(moved)


def _has_few_more(moved: Table, seen: int | None) -> bool:
    """Say whether a store has gone on from a snapshot, and by few rows."""
    rows = 0
    for snapshot in lineage(moved.metadata, moved.current_snapshot()):
        if snapshot.snapshot_id == seen:
            return True
        added = None if snapshot.summary is None else snapshot.summary["added-records"]
        rows += int(added or 0)
        if rows > _MOST_ROWS:
            return False
    return seen is None


def _sent_in_one_request(
    catalog: TimedRestCatalog, attempts: Sequence[StagedSnapshot]
) -> list[Outcome]:
    commits = [_commit_of(each) for each in attempts]
    looked_at = [mark_of(each.other, each) for each in attempts if each.other is not None]
    if len(attempts) == 1 and not looked_at:
        return [_said_by(partial(_send_alone, attempts[0]))]
    said = _said_by(partial(catalog.commit_several, [*looked_at, *commits]))
    if said is not None:
        return [said] * len(attempts)
    return [_said_by(partial(_check_landed, each)) for each in attempts]


def _check_landed(attempt: StagedSnapshot) -> None:
    head = refresh(attempt.table).metadata
    if head.snapshot_by_id(attempt.snapshot_id) is not None:
        return
    text = f"the catalog said yes, and table {'.'.join(attempt.table.name())!r} lacks the snapshot"
    # Where nobody was faster the server may show what was before, and where the snapshots of that
    # time have expired it would be gone as well: its files must stay.
    is_unmoved = head.current_snapshot_id == attempt.parent_id
    if is_unmoved or not would_know(head, attempt.sequence_number):
        raise CommitStateUnknownException(text)
    raise CommitFailedException(text)


def _commit_of(attempt: StagedSnapshot) -> TableCommit:
    return TableCommit(
        table=attempt.table,
        requirements=attempt.requirements,
        updates=attempt.updates,
        metadata=attempt.metadata,
    )


def _stores(attempts: Sequence[StagedSnapshot]) -> list[Table]:
    return [*(each.table for each in attempts), *(each.store for each in _others(attempts))]


def _others(attempts: Sequence[StagedSnapshot]) -> Iterator[OtherStore]:
    return (each.other for each in attempts if each.other is not None)
