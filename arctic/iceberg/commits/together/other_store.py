"""A commit to one store that is refused if the other store of its table has changed meanwhile.

Some commits rest on a look at both stores, and a catalog compares only the one that is committed
to. How the other one is compared depends on the catalog:

    - In a database: in the same transaction.
    - Behind REST: in the same request, where the server takes several tables in one.
    - Glue and Hive, whose commits PyIceberg validates: both stores are marked, see
      ``marked_stores``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial

from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from arctic.errors import ConflictError
from arctic.iceberg.catalogs.in_database.transaction_end import LookAgain
from arctic.iceberg.catalogs.over_http.timed_rest import TimedRestCatalog
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits.asking.staged_snapshot import OtherStore, StagedSnapshot
from arctic.iceberg.commits.commit_loop import Stage
from arctic.iceberg.commits.staging import dated_beside
from arctic.iceberg.tables.open_table import OpenTable

Check = Callable[[OpenTable], None]
"""Is given the table with its stores as they are then; raises where nothing may be committed."""


def beside(
    staged: StagedSnapshot, other: Table | None, *, look_again: LookAgain | None = None
) -> StagedSnapshot:
    """Return an attempt that holds only while the other store is as it is here.

    Args:
        staged: the attempt.
        other: the other store, as it was looked at; it may be refreshed afterwards. None: there is
            none.
        look_again: says whether it holds as well on the other store as that is by then; asked in
            the transaction of a database. None: nobody can say.
    """
    if other is None or not _compares_both(staged.table, other):
        return staged
    return replace(staged, other=OtherStore(store=copy(other), look_again=look_again))


def noticed_by(staged: StagedSnapshot, other: Table | None) -> StagedSnapshot:
    """Return an attempt that others notice who look at its store and commit to the other one.

    For an attempt that replaces rows whatever the other store holds. Where catalogs compare both
    stores it is noticed once it has landed; elsewhere it marks the other store.

    Args:
        staged: the attempt.
        other: the other store; None: there is none.
    """
    if other is None or not _marks(staged.table.catalog):
        return staged
    return replace(staged, other=OtherStore(store=copy(other), may_move=True))


def _marks(catalog: Catalog) -> bool:
    """Say whether a catalog compares one store alone, and PyIceberg itself validates commits."""
    return isinstance(catalog, MetastoreCatalog) and not isinstance(catalog, SqlCatalog)


def _compares_both(store: Table, other: Table) -> bool:
    """Say whether the catalog heeds the other store at a commit to one; see ``beside``."""
    catalog = store.catalog
    if isinstance(catalog, TimedRestCatalog):
        return catalog.commits_several((store, other))
    return isinstance(catalog, MetastoreCatalog)


@dataclass(slots=True)
class SeenStore:
    """The other store of a table, loaded just now, for one attempt after the other to commit."""

    store: Table
    """Refreshed in place."""
    _is_seen: bool = False
    """Whether an attempt has looked at it as it was loaded."""

    def newest(self, head: Table) -> Table:
        """Return it as an attempt on a head of the first store is to look at it.

        That is as it is now, but for the first attempt where both are compared: if it has moved on
        since it was loaded, that attempt loses its race and is built anew. Another catalog leaves
        nothing but a look right before the commit.
        """
        takes_it = not self._is_seen and _compares_both(head, self.store)
        self._is_seen = True
        return self.store if takes_it else refresh(self.store)


def _on_newest_change(
    staged: StagedSnapshot, change: SeenStore, replaced_up_to: int
) -> StagedSnapshot:
    """Return an attempt that holds only while the changes that it replaces are all there are.

    Args:
        staged: the attempt; nothing of it is left where it is refused.
        change: the change store.
        replaced_up_to: the sequence number of the newest change that is replaced.

    Raises:
        ConflictError: others have committed changes since.
    """
    with discarding(staged):
        newest = change.newest(staged.table)
        _check_newest(newest, replaced_up_to)
        return beside(staged, newest)


def replacing(stage: Stage, change: Table | None, *, replaced_up_to: int | None) -> Stage:
    """Return a step that stages a commit of base, and heeds the change store beside it.

    Args:
        stage: the step, whose commits replace rows of base.
        change: the change store; None: there is none.
        replaced_up_to: the sequence number of the newest change that is replaced, where no later
            one may have been committed; None: changes may go on being committed.
    """
    if change is None:
        return stage
    seen = SeenStore(change)

    def staged_beside(head: Table, snapshot_id: int) -> StagedSnapshot | None:
        staged = stage(head, snapshot_id)
        if staged is None:
            return None
        if replaced_up_to is not None:
            staged = _on_newest_change(staged, seen, replaced_up_to)
        else:
            staged = noticed_by(staged, seen.store)
        return dated_beside(staged, seen.store, replaces=True)

    return staged_beside


def _check_newest(change: Table, replaced_up_to: int) -> None:
    """Refuse to replace changes up to a sequence number that is not the newest any more.

    Raises:
        ConflictError: others have committed changes since.
    """
    try:
        _check_sequence(change, replaced_up_to)
    except ConflictError as error:
        raise ConflictError(
            "changes were committed during the overwrite of a table whose keys can move between "
            "partitions, so a key could end up twice; run the overwrite again"
        ) from error


@dataclass(slots=True)
class CheckedHeads:
    """A check of both stores that is asked about each head of one; see ``commit_snapshot``."""

    opened: OpenTable
    check: Check
    of_base: bool
    """Whether the heads are those of base, and the other store is the change store."""
    _other: Table | None = None

    def __call__(self, head: Table) -> None:
        """Check a head, and the other store as it is now."""
        other = self.opened.change if self.of_base else self.opened.base
        self._other = None if other is None else copy(refresh(other))
        self._look(head, self._other)

    def _look(self, head: Table, other: Table | None) -> None:
        if self.of_base:
            self.check(replace(self.opened, base=head, change=other))
        elif other is not None:
            self.check(replace(self.opened, change=head, base=other))

    def staged(self, stage: Stage) -> Stage:
        """Return a stage whose attempts hold only on both stores as they were checked."""

        def stage_beside(head: Table, snapshot_id: int) -> StagedSnapshot | None:
            attempt = stage(head, snapshot_id)
            if attempt is None:
                return None
            dated = dated_beside(attempt, self._other, replaces=self.of_base)
            return beside(dated, self._other, look_again=partial(self._look, head))

        return stage_beside


@contextmanager
def discarding(staged: StagedSnapshot) -> Iterator[None]:
    """Remove what was written for an attempt when it is refused after all."""
    try:
        yield
    except BaseException:
        staged.discard()
        raise


def _check_sequence(head: Table, expected: int) -> None:
    snapshot = head.current_snapshot()
    actual = 0 if snapshot is None else snapshot.sequence_number
    if actual != expected:
        raise ConflictError(
            f"table {'.'.join(head.name())!r} is at sequence number {actual}, but this commit was "
            f"prepared for {expected}; look at the table again and prepare it anew"
        )
