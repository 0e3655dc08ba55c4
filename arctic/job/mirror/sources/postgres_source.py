"""PostgreSQL as a source: tables, the moment of a copy, a slot.

Known to wal2json from 2.6 on, an option has numbers written as texts; before, NaN and infinities
come as null, and whoever follows the log has to fetch them from the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from arctic.cdc.source_table import Dialect, SourceTable
from arctic.cdc.wal2json import OPTIONS, wal2json_events
from arctic.errors import StorageError
from arctic.job.mirror.mirror_settings import MirrorSettings
from arctic.job.mirror.mirror_source import LogPiece
from arctic.job.mirror.mirror_state import MirrorState
from arctic.job.mirror.source_clock import Moment
from arctic.postgres.connect import connect
from arctic.postgres.copy import copied, one_moment
from arctic.postgres.slot import (
    advance,
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

_EXACT_NUMBERS = {"numeric-data-types-as-string": "true"}
_SPECIAL_TYPES = ("real", "double precision", "numeric")


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

    def goes_on(self, state: MirrorState, last_batch: int) -> bool:
        """Say that the slot keeps the log for whoever it is made for."""
        return True

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
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotLog:
    """The log from where a slot is: the server remembers the place."""

    connection: Any
    slot: str
    sources: Sequence[str]
    max_changes: int
    plugin_options: Mapping[str, str]

    def read(self) -> LogPiece:
        """Return the next transactions, without confirming them."""
        before = log_end(self.connection)
        messages = peek(
            self.connection, self.slot, self.plugin_options, self.sources, self.max_changes
        )
        found = wal2json_events(messages)
        is_all = len(messages) < self.max_changes
        return LogPiece(
            found=found,
            reached=max(found.ends, before) if is_all else found.ends,
            is_empty=not len(messages),
        )

    def may_differ(self, state: MirrorState) -> bool:
        """Say yes: the log says nothing of columns that change."""
        return True

    def noted(self, state: MirrorState, reached: int) -> MirrorState:
        """Return the state as it is: the slot knows the place."""
        return state

    def confirm(self, reached: int) -> None:
        """Let the server forget the log up to a place, inclusive."""
        advance(self.connection, self.slot, reached)

    def misprinted(self, state: MirrorState) -> frozenset[str]:
        """Return the columns whose numbers an old plug-in may show as null."""
        if _EXACT_NUMBERS.items() <= self.plugin_options.items():
            return frozenset()
        return frozenset(
            each.name for each in state.columns if each.type.startswith(_SPECIAL_TYPES)
        )
