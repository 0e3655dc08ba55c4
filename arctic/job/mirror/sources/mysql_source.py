"""MySQL and MariaDB as a source: tables, the moment of a copy, a binary log.

Rules:
    - The server remembers no place. Each table's last batch says how far it is; a table without
      changes notes the place when a file of the log ends, so that files may be purged.
    - The log names columns but does not number them: numbers are given here, and stay through
      renames, which the log's statements tell. What they do not tell is copied again.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from arctic.cdc.mysql_types import DIALECT, source_column
from arctic.cdc.source_table import Dialect, SourceTable, TableColumn
from arctic.errors import NotFoundError
from arctic.job.mirror.mirror_settings import MirrorSettings
from arctic.job.mirror.mirror_source import LogPiece
from arctic.job.mirror.mirror_state import MirrorState
from arctic.job.mirror.source_clock import Moment
from arctic.job.mirror.sources.column_numbers import numbered
from arctic.mysql.binlog import Alterations, Binlog
from arctic.mysql.binlog_events import change_events
from arctic.mysql.binlog_stream import file_number, log_end, log_files, mark_of, now_ms
from arctic.mysql.mysql_tables import (
    TableFacts,
    check_server,
    find_facts,
    parse_table,
    system_of_server,
)
from arctic.mysql.server import connected, server_of, sole_user
from arctic.mysql.table_copy import copied_rows, one_snapshot


@contextmanager
def mysql_source(settings: MirrorSettings) -> Iterator[MySqlSource]:
    """Yield the source that a mirror names, kept from other mirrors of its name."""
    server = server_of(settings.dsn)
    with (
        connected(server) as connection,
        connected(server) as locker,
        sole_user(connection, settings.slot),
    ):
        check_server(connection)
        source = MySqlSource(
            connection=connection,
            locker=locker,
            server=server,
            server_id=zlib.crc32(settings.slot.encode()) | 1 << 30,
        )
        try:
            yield source
        finally:
            source.close()


@dataclass(slots=True, kw_only=True)
class MySqlSource:
    """A server of MySQL or MariaDB and its binary log."""

    connection: Any
    locker: Any
    """Another session, for locks of a moment."""
    server: Mapping[str, Any]
    server_id: int
    _log: BinlogLog | None = None

    @property
    def dialect(self) -> Dialect:
        """Its columns have names only."""
        return DIALECT

    def close(self) -> None:
        """Leave the log."""
        if self._log is not None:
            self._log.binlog.close()

    def system(self) -> str:
        """Return what tells this server from every other one."""
        return system_of_server(self.connection)

    def describe(self, names: Sequence[str]) -> tuple[SourceTable, ...]:
        """Return tables that can be mirrored."""
        tables = []
        for text in names:
            schema, name = parse_table(text, self.server["database"])
            facts = find_facts(self.connection, schema, name)
            if facts is None:
                raise NotFoundError(f"table {schema}.{name} of MySQL not found")
            tables.append(_source_table(facts, None, ()))
        return tuple(tables)

    def find(self, name: str, state: MirrorState | None) -> SourceTable | None:
        """Return a table as it is now, with the numbers that its mirror has for its columns."""
        facts = find_facts(self.connection, *parse_table(name, None))
        if facts is None:
            return None
        done: Alterations = () if self._log is None or state is None else self._log.done_to(state)
        return _source_table(facts, state, done)

    def check(self, table: SourceTable) -> None:
        """Do nothing: whatever is found can be followed."""

    def first_moment(self, tables: Sequence[SourceTable]) -> AbstractContextManager[None] | None:
        """Say that the log began before: it is the server's."""
        return None

    def confirmed(self) -> None:
        """Say that the server remembers no place."""

    def goes_on(self, state: MirrorState, place: int) -> bool:
        """Say whether the server still has what came after a place, and not another log."""
        files = log_files(self.connection)
        number = file_number(place)
        if place < 0:
            return True
        if number not in files:
            return False
        is_known = bool(state.log) and file_number(state.place) == number
        return not is_known or state.log == mark_of(self.server, self.server_id, files[number])

    @contextmanager
    def one_moment(self, name: str) -> Iterator[int]:
        """Keep a table from being altered, and let all queries see one state of it."""
        table = parse_table(name, None)
        end = self.log_end
        with one_snapshot(self.connection, self.locker, table, end) as place:
            yield place

    def rows(self, table: SourceTable, *, only_special: bool) -> Iterator[pa.Table]:
        """Yield the rows of a table at that moment; its log shows every number as it is."""
        facts = find_facts(self.connection, table.schema, table.name)
        if facts is None:
            raise NotFoundError(f"table {table.full_name} of MySQL not found")
        return copied_rows(self.connection, facts)

    def log_end(self) -> int:
        """Return how far the log is written."""
        return log_end(self.locker)

    def moment(self) -> Moment:
        """Return the time there, and a place of the log that all is before that was seen then."""
        return now_ms(self.locker), self.log_end()

    def open_log(self, tables: Mapping[str, tuple[MirrorState, int]], limit: int) -> BinlogLog:
        """Return the log from the table on that is farthest behind."""
        places = [last for _, last in tables.values() if last >= 0]
        place = min(places, default=self.log_end())
        marks = {
            state.log
            for state, _ in tables.values()
            if file_number(state.place) == file_number(place)
        }
        binlog = Binlog(
            connection=self.locker,
            server=self.server,
            server_id=self.server_id,
            sources=frozenset(parse_table(name, None) for name in tables),
            place=place,
            mark=next(iter(marks - {""}), ""),
        )
        self._log = BinlogLog(binlog=binlog, limit=limit)
        return self._log


@dataclass(slots=True, kw_only=True)
class BinlogLog:
    """The log from where the tables of a mirror are."""

    binlog: Binlog
    limit: int
    altered: Mapping[str, Alterations] = field(default_factory=dict)
    """Source -> what was done to it in the last piece."""
    _columns: dict[str, frozenset[str]] = field(default_factory=dict)
    """Source -> the columns of its events in the last piece."""

    def read(self) -> LogPiece:
        """Return the next transactions; what altered a table stands at the beginning of a piece."""
        piece = self.binlog.read(self.limit)
        self.altered = piece.altered
        self._columns = {
            each.source: frozenset(column.name for column in each.columns)
            for each in piece.rows
            if each.columns
        }
        found = change_events(piece.rows, ends=max((r.ends for r in piece.rows), default=0))
        return LogPiece(found=found, reached=piece.reached, is_empty=not piece.rows)

    def may_differ(self, state: MirrorState) -> bool:
        """Say whether a statement altered a table, or its events have other columns."""
        if state.table in self.altered:
            return bool(self.done_to(state))
        seen = self._columns.get(state.table)
        return seen is not None and seen != {column.name for column in state.columns}

    def done_to(self, state: MirrorState) -> Alterations:
        """Return what the last piece says was done to a table, and its mirror has not followed.

        A copy that was ahead of the log has its values under the names of then already: a statement
        that would move them again has them copied once more.
        """
        found = []
        for each, place in self.altered.get(state.table, ()):
            is_ahead = bool(each.renames) and place <= state.copied
            if place > state.place:
                found.append((replace(each, rewrites=True) if is_ahead else each, place))
        return tuple(found)

    def noted(self, state: MirrorState, reached: int) -> MirrorState:
        """Return the place too, once for each file of the log."""
        ahead = file_number(reached) - file_number(state.place)
        # A table may be in a later file than the one that is read for another table.
        if ahead < 0 or (not ahead and state.log) or not self.binlog.mark:
            return state
        return replace(state, place=max(reached, state.place), log=self.binlog.mark)

    def shares(self, sources: Sequence[str]) -> None:
        """Say nothing: each table knows its own place."""

    def taken(self, ends: int) -> None:
        """Do nothing: each table knows its own place."""

    def confirm(self, reached: int) -> None:
        """Do nothing: the server does not keep the log for anybody."""

    def misprinted(self, state: MirrorState) -> frozenset[str]:
        """Return none: values are in the log as they are."""
        return frozenset()


def _source_table(
    facts: TableFacts, state: MirrorState | None, altered: Alterations
) -> SourceTable:
    """Return a table whose columns have the numbers that a mirror has for them.

    Args:
        facts: the table as it is now.
        state: what its mirror remembers; None: there is none.
        altered: what the mirror has to follow.
    """
    done = [each for each, _ in altered]
    known = {} if state is None else {column.name: column.position for column in state.columns}
    names = [column.name for column in facts.columns]
    numbers = dict(zip(names, numbered(names, known, done), strict=True))
    oid, filenode = (1, 0) if state is None else (state.oid, state.filenode)
    # Another column is the key now, by the names of the old one.
    is_rekeyed = any(known.get(name, numbers[name].number) != numbers[name].number
                     for name in facts.key)  # fmt: skip
    return SourceTable(
        schema=facts.schema,
        name=facts.name,
        oid=oid + (is_rekeyed or any(each.replaces for each in done)),
        columns=tuple(
            TableColumn(
                position=numbers[column.name].number,
                name=column.name,
                type=column.type,
                describe=source_column,
                has_missing=state is not None and not numbers[column.name].is_explained,
            )
            for column in facts.columns
        ),
        key=facts.key,
        identity="f",
        filenode=filenode + any(each.rewrites for each in done),
        is_current=True,
        place=max((place for _, place in altered), default=-1),
    )
