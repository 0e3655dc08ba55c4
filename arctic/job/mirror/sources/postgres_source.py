"""PostgreSQL as a source: tables, the moment of a copy, a slot.

Known to wal2json from 2.6 on, an option has numbers written as texts; before, NaN and infinities
come as null, and whoever follows the log has to fetch them from the source.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from arctic.cdc.source_table import Dialect, SourceTable
from arctic.cdc.wal2json import OPTIONS, wal2json_events
from arctic.errors import InvalidInputError, StorageError
from arctic.job.mirror.mirror_settings import MirrorSettings
from arctic.job.mirror.mirror_source import LogPiece
from arctic.job.mirror.mirror_state import MirrorState
from arctic.job.mirror.source_clock import Moment
from arctic.job.mirror.sources.shared_place import shares_of
from arctic.postgres.connect import connect
from arctic.postgres.copy import copied, one_moment
from arctic.postgres.slot import (
    advance,
    are_shown,
    confirmed,
    created_slot,
    has_slot,
    log_end,
    log_written,
    now_ms,
    peek,
    sole_use,
    system_of,
)
from arctic.postgres.source_tables import (
    DIALECT,
    check_mirrorable,
    describe_tables,
    find_table,
    parse_name,
)

logger = logging.getLogger(__name__)

_EXACT_NUMBERS = {"numeric-data-types-as-string": "true"}
_SPECIAL_TYPES = ("real", "double precision", "numeric")
_NOTED_AFTER = 1 << 20
"""Bytes of a log without anything for the tables, after which a place of it is noted: they are
decoded once more in every look until then, and a note is a commit."""


@contextmanager
def postgres_source(settings: MirrorSettings) -> Iterator[PostgresSource]:
    """Yield the source that a mirror names, kept from other mirrors of its slot."""
    with connect(settings.dsn) as connection, sole_use(connection, settings.slot):
        yield PostgresSource(connection=connection, dsn=settings.dsn, slot=settings.slot)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSource:
    """A database of PostgreSQL and a slot of it."""

    connection: Any
    dsn: str
    slot: str

    @property
    def dialect(self) -> Dialect:
        """Its columns have numbers."""
        return DIALECT

    def system(self) -> str:
        """Return what tells this database from every other one."""
        return system_of(self.connection)

    def describe(self, names: Sequence[str]) -> tuple[SourceTable, ...]:
        """Return tables that can be mirrored."""
        return describe_tables(self.connection, names)

    def find(self, name: str, state: MirrorState | None) -> SourceTable | None:
        """Return a table as it is now; None: there is none."""
        return find_table(self.connection, *parse_name(name))

    def check(self, table: SourceTable) -> None:
        """Refuse a table whose changes could not be followed exactly."""
        check_mirrorable(table)

    def first_moment(self, tables: Sequence[SourceTable]) -> AbstractContextManager[None] | None:
        """Return the moment at which a new slot begins; None: the slot is there."""
        if has_slot(self.connection, self.slot):
            return None
        return self._new_slot([(table.schema, table.name) for table in tables])

    @contextmanager
    def _new_slot(self, names: Sequence[tuple[str, str]]) -> Iterator[None]:
        with (
            created_slot(self.dsn, self.slot) as snapshot,
            one_moment(self.connection, names, snapshot=snapshot),
        ):
            yield

    def confirmed(self) -> int:
        """Return up to where the slot has let its log be forgotten."""
        return confirmed(self.connection, self.slot)

    def goes_on(self, state: MirrorState, place: int) -> bool:
        """Say whether the slot still has what came after a place."""
        end = self.log_end()
        if place > end:
            raise InvalidInputError(
                f"table {state.table} of PostgreSQL is mirrored up to {place} of the log, which "
                f"ends at {end}: the server was brought back to an earlier state, or is a copy of "
                f"the one that is mirrored; if it is the right one, run SELECT "
                f"pg_drop_replication_slot('{self.slot}'), and all tables are copied anew"
            )
        return self.confirmed() <= place

    @contextmanager
    def one_moment(self, name: str) -> Iterator[int]:
        """Keep a table from being altered, and let all queries see one state of it."""
        with one_moment(self.connection, [parse_name(name)], snapshot=None):
            yield -1

    def rows(self, table: SourceTable, *, only_special: bool) -> Iterator[pa.Table]:
        """Yield the rows of a table at that moment."""
        return copied(self.connection, table, only_special=only_special)

    def log_end(self) -> int:
        """Return how far the log is written and safe."""
        return log_end(self.connection)

    def moment(self) -> Moment:
        """Return the time there, and a place of the log that all is before that was seen then."""
        return now_ms(self.connection), log_written(self.connection)

    def open_log(self, tables: Mapping[str, tuple[MirrorState, int]], limit: int) -> SlotLog:
        """Return the log with the options that the server's plug-in knows."""
        sources = list(tables)
        for options in ({**OPTIONS, **_EXACT_NUMBERS}, dict(OPTIONS)):
            try:
                peek(self.connection, self.slot, options, sources, 1)
            except StorageError as error:
                if "is unknown" not in str(error) or options == OPTIONS:
                    raise
                continue
            break
        return SlotLog(
            connection=self.connection,
            slot=self.slot,
            sources=sources,
            max_changes=limit,
            plugin_options=options,
            known=self.confirmed(),
        )


@dataclass(slots=True, kw_only=True)
class SlotLog:
    """The log from where a slot is: the server remembers the place, and the tables know it."""

    connection: Any
    slot: str
    sources: Sequence[str]
    max_changes: int
    plugin_options: Mapping[str, str]
    known: int
    """The tables know that everything up to here is in all of them."""
    _needed: int = -1
    """Up to where the last piece has to be confirmed for the next one to go on."""
    _reached: int = -1
    """Where of the log everything was known after the last piece."""

    def read(self) -> LogPiece:
        """Return the next transactions, without confirming them."""
        before = log_end(self.connection)
        peeked = peek(
            self.connection, self.slot, self.plugin_options, self.sources, self.max_changes
        )
        if not are_shown(self.connection, peeked.transactions):
            logger.warning(
                "slot %s: commits still wait, as for a synchronous standby; waiting for them",
                self.slot,
            )
            self._needed = -1
            nothing = wal2json_events(peeked.messages.slice(0, 0))
            return LogPiece(found=nothing, reached=self._reached, is_empty=True)
        is_all = len(peeked.messages) < self.max_changes
        # Looked at again and again until it is confirmed: transactions of other tables.
        is_of_others = is_all and not peeked.has_changes and not peeked.unsaid
        found = wal2json_events(peeked.messages.slice(0, 0 if is_of_others else None))
        reached = max(found.ends, before if is_all else peeked.after)
        is_empty = is_all and not (found.events.num_rows or found.broken.num_rows or peeked.unsaid)
        self._needed = -1 if is_empty else found.ends if is_all else reached
        self._reached = reached
        return LogPiece(found=found, reached=reached, is_empty=is_empty, unsaid=peeked.unsaid)

    def may_differ(self, state: MirrorState) -> bool:
        """Say yes: the log says nothing of columns that change."""
        return True

    def noted(self, state: MirrorState, reached: int) -> MirrorState:
        """Return the place too, in one table, where no batch says it and it is time."""
        if state.table != self.sources[0] or not self._is_to_be_noted(reached):
            return state
        return replace(state, noted=reached)

    def shares(self, sources: Sequence[str]) -> str:
        """Return which tables have a share of the last piece, and what all of them hold."""
        return shares_of(sources, self.known)

    def taken(self, ends: int) -> None:
        """Be told that the commits of the last piece say how far all tables are."""
        self.known = max(self.known, ends)

    def confirm(self, reached: int) -> None:
        """Let the server forget the log up to where the tables know that they are."""
        if self._is_to_be_noted(reached):
            self.known = reached
        advance(self.connection, self.slot, self.known)

    def _is_to_be_noted(self, reached: int) -> bool:
        return self.known < self._needed or reached - self.known >= _NOTED_AFTER

    def misprinted(self, state: MirrorState) -> frozenset[str]:
        """Return the columns whose numbers an old plug-in may show as null."""
        if _EXACT_NUMBERS.items() <= self.plugin_options.items():
            return frozenset()
        return frozenset(
            each.name for each in state.columns if each.type.startswith(_SPECIAL_TYPES)
        )
