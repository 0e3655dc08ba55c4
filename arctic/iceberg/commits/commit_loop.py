"""Trying a commit until it lands, is refused, or nobody can say.

Rules:
    - Every attempt starts from a fresh head and is built anew. The first takes the one that it was
      given; where that is not fresh after all, it loses its race, and the head is loaded then.
    - All attempts have the same snapshot id. Before another attempt, and before giving up, the
      table is searched for it: an answer that was lost is not a commit that was lost.
    - The files of an attempt are deleted only after the catalog said that it lost the race and
      its snapshot was not found. After any other failure they stay.
    - A snapshot that may have expired since, or whose table is not found either, is not taken for
      lost on the word of a catalog that may have been asked twice.
    - A check of what others did takes time in which they do more. So a head is looked for again
      until none came during a check: a race is then about what comes while an attempt is built.
    - A connection pool is emptied before looking: a connection that failed at COMMIT may still
      show its own process a snapshot that was never committed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table, TableProperties
from pyiceberg.utils.properties import property_as_int

from arctic.errors import (
    ArcticError,
    CommitStateUnknownError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    StorageError,
)
from arctic.iceberg.catalogs.asked_twice import may_have_landed
from arctic.iceberg.catalogs.over_thrift.refused_lock import LockRefusedError
from arctic.iceberg.catalogs.read_only import check_writable
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.commits.asking.sending import AbandonedError, ask_for, pause
from arctic.iceberg.commits.asking.staged_snapshot import StagedSnapshot
from arctic.iceberg.metadata.history import would_know
from arctic.iceberg.storage.table_io import is_file_gone
from arctic.retry import RetryPolicy

Stage = Callable[[Table, int], StagedSnapshot | None]
"""Builds one attempt on a fresh head with this snapshot id; None: there is nothing to commit."""

HeadCheck = Callable[[Table], None]
"""Refuses a head by raising ``ConflictError``; what it has seen once costs it next to nothing."""

_MAX_UNKNOWN = 5
"""Attempts with an unknown outcome after which the catalog is taken to be broken."""

_MAX_RACES = 5
"""Races for a snapshot, each of as many tries as the table allows, for rows that took long."""

_MOST_LOOKS = 10
"""Heads that are checked for one attempt, if others commit faster than it can be looked at."""

_MAX_OUTRUN = 5
"""Attempts with a file that is gone after which the table is taken to be damaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitResult:
    """A snapshot that is committed."""

    snapshot_id: int
    sequence_number: int


def commit_policy(properties: Mapping[str, str]) -> RetryPolicy:
    """Read ``commit.retry.*``, with Iceberg's defaults.

    Raises:
        InvalidInputError: a property that is not a number.
    """
    names = TableProperties
    return RetryPolicy(
        retries=_number(properties, names.COMMIT_NUM_RETRIES, names.COMMIT_NUM_RETRIES_DEFAULT),
        min_wait_ms=_number(
            properties, names.COMMIT_MIN_RETRY_WAIT_MS, names.COMMIT_MIN_RETRY_WAIT_MS_DEFAULT
        ),
        max_wait_ms=_number(
            properties, names.COMMIT_MAX_RETRY_WAIT_MS, names.COMMIT_MAX_RETRY_WAIT_MS_DEFAULT
        ),
        total_ms=_number(
            properties, names.COMMIT_TOTAL_RETRY_TIME_MS, names.COMMIT_TOTAL_RETRY_TIME_MS_DEFAULT
        ),
    )


def commit_snapshot(
    table: Table, stage: Stage, *, check: HeadCheck | None = None
) -> CommitResult | None:
    """Commit one snapshot to a store, over lost races.

    Args:
        table: the store, which is not changed. The first attempt takes it as it is: whoever has
            loaded it a while ago hands on its ``newest``.
        stage: builds an attempt. It may refuse by raising; nothing of it is left then.
        check: is asked about every head that an attempt is built on.

    Returns:
        The snapshot, or None when ``stage`` found nothing to commit.

    Raises:
        ConflictError: other writers won every retry, or a head was refused; the commit did not
            land.
        CommitStateUnknownError: the commit may have landed.
        StorageError: the catalog or a file cannot be reached; the commit did not land.
    """
    check_writable(table.catalog)
    return _Commit(table, stage, check).run()


class _Commit:
    def __init__(self, table: Table, stage: Stage, check: HeadCheck | None) -> None:
        self._head = copy(table)
        self._stage = stage
        self._check = check
        self._name = ".".join(table.name())
        self._snapshot_id = table.metadata.new_snapshot_id()
        self._lost: StagedSnapshot | None = None
        self._refusal: CommitFailedException | None = None
        self._unknown: Exception | None = None
        self._unknown_attempt: StagedSnapshot | None = None
        self._unknown_count = 0
        self._outrun_count = 0
        self._has_looked = False

    def run(self) -> CommitResult | None:
        started = time.monotonic()
        policy = commit_policy(self._head.properties)
        most_tries = policy.most_tries * (1 if self._check is None else _MAX_RACES)
        attempt = 0
        while True:
            landed = self._look() if attempt or self._lost is not None else None
            if landed is not None:
                return landed
            elapsed_ms = (time.monotonic() - started) * 1000
            is_over = policy.total_ms is not None and elapsed_ms > policy.total_ms
            if attempt >= most_tries or (attempt > 0 and is_over):
                raise self._given_up(attempt)
            try:
                landed = self._check_head()
                if landed is not None:
                    return landed
                staged = self._staged()
            except StorageError as error:
                self._check_outrun(error)
            else:
                if staged is None:
                    return None
                if self._try(staged):
                    return CommitResult(
                        snapshot_id=staged.snapshot_id, sequence_number=staged.sequence_number
                    )
            if self._lost is not None and not self._has_looked:
                continue  # a look would have seen who was faster: it costs no retry
            if self._unknown_count >= _MAX_UNKNOWN:
                attempt = most_tries - 1
            pause(policy.wait_seconds(attempt % policy.most_tries))
            attempt += 1

    def _look(self) -> CommitResult | None:
        """Refresh the head, and find out whether an earlier attempt is in it."""
        self._has_looked = True
        try:
            refresh(self._head)
        except StorageError as error:
            if self._lost is None and self._unknown is None:
                raise
            raise self._state_unknown(self._unknown or error) from error
        except NotFoundError as error:
            doubt = self._unknown or self._doubtful_refusal()
            if doubt is not None:  # it may have landed before the table got another name
                raise self._state_unknown(doubt) from error
            if self._lost is not None:
                self._lost.discard()
            raise
        snapshot = self._head.metadata.snapshot_by_id(self._snapshot_id)
        if snapshot is not None:
            return CommitResult(
                snapshot_id=snapshot.snapshot_id, sequence_number=snapshot.sequence_number or 0
            )
        self._conclude()
        return None

    def _conclude(self) -> None:
        """Take attempts that the head lacks for lost; raises where nobody knows."""
        metadata, attempt = self._head.metadata, self._unknown_attempt
        is_moved = attempt is not None and metadata.current_snapshot_id != attempt.parent_id
        if self._unknown is not None and attempt is not None and is_moved:
            if not would_know(metadata, attempt.sequence_number):
                raise self._state_unknown(self._unknown)
            self._unknown = None  # what lies on another parent can not land any more
        if self._lost is not None:
            refusal = self._doubtful_refusal()
            if refusal is not None and not would_know(metadata, self._lost.sequence_number):
                raise self._state_unknown(refusal)
            self._lost.discard()
            self._lost = None

    def _doubtful_refusal(self) -> CommitFailedException | None:
        """Return the refusal of an attempt that may have landed all the same."""
        is_one = self._lost is not None and may_have_landed(self._head.catalog, self._refusal)
        return self._refusal if is_one else None

    def _check_head(self) -> CommitResult | None:
        """Check the head, and the one that came meanwhile, until none did; a look may find ours."""
        if self._check is None:
            return None
        for _ in range(_MOST_LOOKS):
            checked = self._head.metadata_location
            with self._unless_unknown():
                self._check(self._head)
            landed = self._look()
            if landed is not None or self._head.metadata_location == checked:
                return landed
        with self._unless_unknown():
            self._check(self._head)
        return None

    def _staged(self) -> StagedSnapshot | None:
        with self._unless_unknown():
            return self._stage(self._head, self._snapshot_id)

    @contextmanager
    def _unless_unknown(self) -> Iterator[None]:
        """Have a refusal say that an attempt may have landed, if that is not known."""
        try:
            yield
        except ArcticError as error:
            if self._unknown is None:
                raise
            raise self._state_unknown(self._unknown) from error

    def _check_outrun(self, error: StorageError) -> None:
        """Return where an attempt failed because what it lay on was replaced and expired."""
        self._outrun_count += 1
        if not is_file_gone(error) or self._outrun_count > _MAX_OUTRUN:
            raise error

    def _try(self, staged: StagedSnapshot) -> bool:
        try:
            ask_for(staged)
        except AbandonedError:
            staged.discard()
            with self._unless_unknown():
                raise
        except CommitFailedException as error:
            self._lost, self._refusal = staged, error
            return False
        except Exception as error:  # noqa: BLE001 - whatever it is, the commit may have landed
            self._unknown, self._unknown_attempt = error, staged
            self._unknown_count += 1
            _empty_pool(self._head.catalog)
            return False
        return True

    def _given_up(self, attempts: int) -> ConflictError | CommitStateUnknownError:
        if self._unknown is not None:
            return self._state_unknown(self._unknown)
        of_lock = isinstance(self._refusal, LockRefusedError)
        conflict = ConflictError(
            f"table {self._name!r}: other commits won {attempts} attempts; retry, or raise "
            f"{TableProperties.COMMIT_NUM_RETRIES}" + (f": {self._refusal}" if of_lock else "")
        )
        conflict.__cause__ = self._refusal
        return conflict

    def _state_unknown(self, cause: Exception) -> CommitStateUnknownError:
        error = CommitStateUnknownError(
            f"table {self._name!r}: the catalog did not say whether snapshot {self._snapshot_id} "
            f"was committed ({type(cause).__name__}: {cause}); look for it in the snapshots before "
            "writing again"
        )
        error.__cause__ = cause
        return error


def _empty_pool(catalog: Catalog) -> None:
    if isinstance(catalog, SqlCatalog):
        catalog.engine.dispose()


def _number(properties: Mapping[str, str], name: str, default: int) -> int:
    try:
        value = property_as_int(dict(properties), name, default)
    except ValueError as error:
        raise InvalidInputError(
            f"table property {name} = {properties[name]!r}: expected a whole number"
        ) from error
    return max(0, default if value is None else value)
