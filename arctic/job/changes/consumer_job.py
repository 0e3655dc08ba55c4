"""Consumers of the changes of a table: begun, read from, moved, listed with what is ahead, dropped.

Rules:
    - A consumer moves only from where its reader saw it: of two readers under one name the slower
      one is refused, and nothing is passed over. Where a catalog cannot compare properties, as over
      REST, that holds for moves that do not happen in one moment.
    - It is read like a stream: from its place on, as far as limits allow, whole commits.
    - Whoever looks for changes and finds none keeps it alive: of a table at rest nobody would move
      it else, and what it holds back would go. That costs a commit of properties, so it is not done
      each time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from arctic import options as opt
from arctic.errors import (
    CommitStateUnknownError,
    ConflictError,
    NotFoundError,
    StorageError,
)
from arctic.iceberg.catalogs.catalog import open_catalog
from arctic.iceberg.snapshots.consumers import (
    ConsumerState,
    check_consumer_name,
    consumer_at,
    consumer_names,
    consumers_of,
)
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.tables.set_properties import commit_properties
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_job import Changes
from arctic.job.changes.commits_ahead import commits_ahead
from arctic.job.read.scan_job import ScanJob
from arctic.job.reference import TableReference
from arctic.table.expiry import duration_text, is_old
from arctic.table.property_names import CONSUMER_PREFIX
from arctic.table.streams.stream_position import StreamPosition

CONSUMERS_SCHEMA = pa.schema(
    [
        ("consumer", pa.string()),
        ("moved_at", pa.timestamp("us", tz="UTC")),
        ("commits_behind", pa.int64()),
        ("rows_behind", pa.int64()),
        ("behind", pa.duration("ms")),
        ("holds", pa.bool_()),
        ("base_snapshot_id", pa.int64()),
        ("change_snapshot_id", pa.int64()),
    ]
)
_RENEWALS = 10
"""How often a consumer is renewed in the time that it may rest, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextChanges:
    """What a consumer reads next."""

    job: ScanJob | None
    """None: there is nothing new."""
    begun: ConsumerState
    end: StreamPosition
    """Where it stands once that is done."""


class ConsumerJob:
    """One consumer of one table."""

    def __init__(self, asked: AskedChanges, name: str) -> None:
        self.name = check_consumer_name(name)
        self._asked = asked
        self._reference = asked.reference

    def state(self) -> ConsumerState | None:
        """Return where the consumer stands; None: there is none of this name.

        Raises:
            FormatError: its place cannot be read.
            NotFoundError: no such table.
        """
        return self._state_in(self._reference.open())

    def begin(self) -> ConsumerState:
        """Return where the consumer stands; a new one is put where the options say.

        Raises:
            NotFoundError: a start whose history has expired.
            ConflictError: others changed the table all the time.
        """
        found = self.state()
        if found is not None:
            return found
        changes = Changes(self._asked)
        state = consumer_at(changes.opened, changes.beginning(), now_ms=_now_ms())
        try:
            self._put(changes.opened, None, state)
        except ConflictError:
            other = self.state()  # somebody began it just now
            if other is None:
                raise
            return other
        return state

    def next(self, columns: Sequence[str] | None) -> NextChanges:
        """Plan what comes after the consumer's place.

        Raises:
            NotFoundError: no such consumer, or what it has not read has expired.
            UnsupportedError: content that would be read wrongly.
        """
        begun = self._known_in(self._reference.open())
        changes = Changes(self._asked)
        try:
            end = changes.advance(begun.position, limit=self._asked.limit)
            if end != begun.position:
                job = changes.plan(begun.position, end, columns=columns or self._asked.columns)
                return NextChanges(job=job, begun=begun, end=end)
            if self.is_to_be_renewed(changes.opened):
                begun = self._renewed(begun, changes)
        except NotFoundError as error:
            raise self._expired(changes.opened, begun, error) from error
        return NextChanges(job=None, begun=begun, end=begun.position)

    def move(self, begun: ConsumerState, end: StreamPosition) -> ConsumerState:
        """Put the consumer behind what was read.

        Args:
            begun: where it stood then.
            end: where it stands now.

        Raises:
            ConflictError: others moved it meanwhile.
            NotFoundError: others dropped it, or the state there has expired.
        """
        opened = self._reference.open()
        state = consumer_at(opened, end, now_ms=_now_ms())
        if self._known_in(opened).position != begun.position:
            raise ConflictError(
                f"consumer {self.name!r} of table {self._reference.identifier!r} was moved by "
                "others since it was read; read again"
            )
        self._put(opened, begun, state)
        return state

    def follow(self, end: StreamPosition) -> None:
        """Put the consumer where a stream is, unless it is further: a batch may come twice."""
        opened = self._reference.open()
        self._put_at(opened, self._known_in(opened), end)

    def hold(self, place: StreamPosition) -> None:
        """Put the consumer at a place, unless it is further; a new one begins there."""
        opened = self._reference.open()
        self._put_at(opened, self._state_in(opened), place)

    def is_to_be_renewed(self, opened: OpenTable) -> bool:
        """Say whether the consumer has rested for so long that who finds nothing new moves it.

        Args:
            opened: the table, its stores refreshed.
        """
        known = self._state_in(opened)
        limit_ms = opt.CONSUMER_EXPIRATION_MS.value({}, opened.table.properties)
        if known is None or not limit_ms:
            return False
        return is_old(known.moved_ms, duration_ms=limit_ms // _RENEWALS, now_ms=_now_ms())

    def drop(self) -> None:
        """Forget the consumer, so that expiry may take what only it held back.

        Raises:
            NotFoundError: there is none of this name.
        """
        opened = self._reference.open()
        name = f"{CONSUMER_PREFIX}{self.name}"
        if name not in opened.base.properties:
            raise self._missing(opened)
        self._set(opened, opened.base.properties[name], None)  # also one that cannot be read

    def _known_in(self, opened: OpenTable) -> ConsumerState:
        found = self._state_in(opened)
        if found is None:
            raise self._missing(opened)
        return found

    def _state_in(self, opened: OpenTable) -> ConsumerState | None:
        text = opened.base.properties.get(f"{CONSUMER_PREFIX}{self.name}")
        return None if text is None else ConsumerState.parsed(self.name, text)

    def _missing(self, opened: OpenTable) -> NotFoundError:
        known = consumer_names(opened.base.properties)
        return NotFoundError(
            f"table {opened.table.name!r} has no consumer {self.name!r}; there are "
            f"{', '.join(map(repr, known)) or 'none'}"
        )

    def _renewed(self, begun: ConsumerState, changes: Changes) -> ConsumerState:
        """Put the consumer behind base commits that hold no news, and return where it stands."""
        opened = changes.opened
        state = consumer_at(opened, changes.beside(begun.position), now_ms=_now_ms())
        try:
            self._put(opened, begun, state)
        except (ConflictError, CommitStateUnknownError, StorageError):
            return begun  # no reason to fail a read; the next one tries again
        return state

    def _put_at(
        self, opened: OpenTable, known: ConsumerState | None, place: StreamPosition
    ) -> None:
        if known is not None:
            is_further = _order(place) > _order(known.position)
            if not is_further and (place != known.position or not self.is_to_be_renewed(opened)):
                return
        self._put(opened, known, consumer_at(opened, place, now_ms=_now_ms()))

    def _put(self, opened: OpenTable, begun: ConsumerState | None, state: ConsumerState) -> None:
        self._set(opened, None if begun is None else begun.text, state.text)

    def _set(self, opened: OpenTable, begun: str | None, text: str | None) -> None:
        name = f"{CONSUMER_PREFIX}{self.name}"
        commit_properties(
            open_catalog(self._reference.config),
            opened.base,
            {} if text is None else {name: text},
            (name,) if text is None else (),
            expected={name: begun},
            subject=f"consumer {self.name!r} of table {opened.table.name!r}",
        )

    def _expired(
        self, opened: OpenTable, state: ConsumerState, error: NotFoundError
    ) -> NotFoundError:
        limit = opt.CONSUMER_EXPIRATION_MS.value({}, opened.table.properties)
        return NotFoundError(
            f"consumer {self.name!r} of table {opened.table.name!r}: what it has not read is gone; "
            f"it was moved last at {state.moved_ms} ms, and holds history back for "
            f"{duration_text(limit)} (table property {opt.CONSUMER_EXPIRATION_MS.name}); drop it, "
            f"and begin it anew ({error.message})"
        )


def list_consumers(reference: TableReference) -> pa.Table:
    """Return the consumers of a table by name, with how far they are behind.

    Args:
        reference: the table.

    Raises:
        FormatError: the place of one cannot be read.
        NotFoundError: no such table.
    """
    opened = reference.open()
    limit_ms = opt.CONSUMER_EXPIRATION_MS.value({}, opened.table.properties)
    now_ms = _now_ms()
    rows = []
    for name, state in consumers_of(opened.base.properties).items():
        ahead = commits_ahead(opened, state.position.sequence_number, now_ms=now_ms)
        rows.append(
            {
                "consumer": name,
                "moved_at": state.moved_ms * 1000,
                "commits_behind": ahead.commits,
                "rows_behind": ahead.rows,
                "behind": ahead.behind_ms,
                "holds": not is_old(state.moved_ms, duration_ms=limit_ms, now_ms=now_ms),
                "base_snapshot_id": state.base_snapshot_id,
                "change_snapshot_id": state.change_snapshot_id,
            }
        )
    return pa.Table.from_pylist(rows, schema=CONSUMERS_SCHEMA)


def _order(position: StreamPosition) -> tuple[int, int, int, int]:
    done = 0 if position.pin is None else position.pin.files_done
    return (
        position.sequence_number,
        int(position.pin is None),
        done,
        position.base_sequence_number,
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
