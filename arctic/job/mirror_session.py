"""One session of a mirror: how it begins, and the steps by which it follows the log.

Rules:
    - A batch is confirmed to the slot after every table has committed its share. Each commit says
      up to where of the log it goes, so a table skips what it holds when a batch comes again.
    - Broken events are committed to the quarantine first: they are found again as long as their
      table has not committed.
    - The first copy sees the very moment at which the slot begins.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from arctic.cdc.events import Events, after_truncate, refused
from arctic.cdc.wal2json import OPTIONS, wal2json_events
from arctic.errors import ConflictError, NotFoundError, StorageError
from arctic.iceberg.open_table import open_table
from arctic.job.mirror_copies import Copies
from arctic.job.mirror_settings import (
    QUARANTINE_NAME,
    MirrorReport,
    MirrorSettings,
    check_names,
    target_of,
)
from arctic.job.mirror_table import (
    MirrorTable,
    create_mirror,
    new_state,
    open_mirror,
)
from arctic.job.reference import table_reference
from arctic.job.write_changes import WriteRows, last_batch, write_quarantine
from arctic.postgres.copy import one_moment
from arctic.postgres.slot import (
    advance,
    created_slot,
    find_slot,
    log_end,
    peek,
    system_of,
)
from arctic.postgres.tables import (
    SourceTable,
    check_mirrorable,
    describe_tables,
    find_table,
    parse_name,
)
from arctic.table.stream_batch import StreamBatch

_EXACT_NUMBERS = {"numeric-data-types-as-string": "true"}
"""Known to wal2json from 2.6 on; before, NaN and infinities come as null."""
_SPECIAL_TYPES = ("real", "double precision", "numeric")

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Counts:
    batches: int = 0
    events: int = 0
    quarantined: int = 0
    place: int = 0


class MirrorSession:
    """The tables of a mirror, while one process has the slot to itself."""

    def __init__(self, settings: MirrorSettings, connection: Any, write: WriteRows) -> None:
        self._settings = settings
        self._connection = connection
        self._write = write
        self._copies = Copies(connection, write)
        self._system = system_of(connection)
        self._plugin_options = dict(OPTIONS)
        self._names: dict[str, str] = {}
        self._tables: dict[str, MirrorTable] = {}
        self._writer = ""
        self._counts = _Counts()
        self._check_special: set[str] = set()
        self.is_idle = False

    @property
    def is_behind(self) -> bool:
        """Whether a table waits for a copy."""
        return any(table.state.copy_after is not None for table in self._tables.values())

    def report(self) -> MirrorReport:
        """Return what was done so far."""
        counts = self._counts
        return MirrorReport(
            batches=counts.batches,
            events=counts.events,
            quarantined=counts.quarantined,
            place=counts.place,
        )

    # Beginning

    def begin(self) -> None:
        """Have a slot, and tables that follow it."""
        asked = [target_of(text) for text in self._settings.tables]
        sources = describe_tables(self._connection, [table for table, _ in asked])
        self._names = {s.full_name: n for s, (_, n) in zip(sources, asked, strict=True)}
        check_names(self._names)
        mirrors = {s.full_name: open_mirror(self._place_of(s), self._system) for s in sources}
        if find_slot(self._connection, self._settings.slot) is None:
            self._writer = f"cdc.{self._settings.slot}.{secrets.token_hex(5)}"
            self._first_copy(sources, mirrors)
        else:
            writers = {m.state.writer for m in mirrors.values() if m and m.state.is_complete}
            new = f"cdc.{self._settings.slot}.{secrets.token_hex(5)}"
            self._writer = next(iter(sorted(writers)), new)
            for source in sources:
                self._tables[source.full_name] = self._joined(source, mirrors[source.full_name])
        self._find_plugin_options()

    def _place_of(self, source: SourceTable) -> dict[str, str]:
        return self._options(self._names[source.full_name])

    def _options(self, table: str) -> dict[str, str]:
        return {**self._settings.place, "path": f"{self._settings.namespace}.{table}"}

    def _first_copy(
        self, sources: Sequence[SourceTable], mirrors: Mapping[str, MirrorTable | None]
    ) -> None:
        """Create the slot, and copy every table as it is where the slot begins."""
        names = [(source.schema, source.name) for source in sources]
        begun = {s.full_name: self._begun(s, mirrors[s.full_name]) for s in sources}
        with (
            created_slot(self._settings.dsn, self._settings.slot) as snapshot,
            one_moment(self._connection, names, snapshot=snapshot),
        ):
            for source in sources:
                now = find_table(self._connection, source.schema, source.name)
                mirror = begun[source.full_name]
                if now is None or not now.is_current or not mirror.is_like(now):
                    raise ConflictError(
                        f"table {source.full_name} was altered while its copy began; run again"
                    )
                logger.info("copying %s", source.full_name)
                self._copies.copy(mirror, now, mode="append")
        for source in sources:
            mirror = begun[source.full_name].reopened()
            state = replace(mirror.state, is_complete=True)
            self._tables[source.full_name] = mirror.with_state(state)

    def _begun(self, source: SourceTable, mirror: MirrorTable | None) -> MirrorTable:
        """Return the mirror, empty and with the columns of the source."""
        if mirror is None:
            options = self._place_of(source)
            return create_mirror(
                options,
                source,
                system=self._system,
                writer=self._writer,
                partition_by=self._settings.partition_by.get(source.full_name, ()),
            )
        mirror = mirror.brought_in_step(source, 0)
        state = new_state(source, system=self._system, writer=self._writer)
        mirror = mirror.with_state(state)
        self._copies.clear(mirror)
        return mirror

    def _joined(self, source: SourceTable, mirror: MirrorTable | None) -> MirrorTable:
        """Return a mirror that follows a slot which began before it: its rows are copied later."""
        self._check_special.add(source.full_name)
        if mirror is not None and mirror.state.is_complete and mirror.state.writer == self._writer:
            return mirror
        mirror = self._begun(source, mirror)
        end = log_end(self._connection)
        return mirror.with_state(replace(mirror.state, is_complete=True, copy_after=end))

    def _find_plugin_options(self) -> None:
        for options in ({**OPTIONS, **_EXACT_NUMBERS}, dict(OPTIONS)):
            try:
                peek(self._connection, self._settings.slot, options, list(self._tables), 1)
            except StorageError as error:
                if "is unknown" not in str(error) or options == OPTIONS:
                    raise
                continue
            self._plugin_options = options
            return

    # Following

    def step(self) -> int:
        """Mirror one batch; return where of the log everything is mirrored then."""
        connection, slot = self._connection, self._settings.slot
        before = log_end(connection)
        limit = self._settings.max_changes
        messages = peek(connection, slot, self._plugin_options, list(self._tables), limit)
        found = wal2json_events(messages)
        reached = max(found.ends, before) if len(messages) < limit else found.ends
        self._follow_columns()
        if len(messages):
            self._apply(found)
        self._patch_special()
        self._copy_due(reached)
        # Copies have no place in the log: what is broken in them is kept as it comes.
        self._counts.quarantined += write_quarantine(
            self._options(QUARANTINE_NAME), self._copies.take_broken(), batch=None
        )
        advance(connection, slot, reached)
        self.is_idle = not len(messages)
        self._counts.place = reached
        return reached

    def _follow_columns(self) -> None:
        for name, mirror in self._tables.items():
            now = find_table(self._connection, *parse_name(name))
            if now is None:
                logger.warning("table %s is gone from PostgreSQL; its mirror stays", name)
            elif not mirror.is_like(now):
                check_mirrorable(now)
                logger.info("following the columns of %s", name)
                self._tables[name] = mirror.brought_in_step(now, log_end(self._connection))

    def _apply(self, found: Events) -> None:
        quarantined = [found.broken]
        shares = {}
        for name in self._tables:
            mirror = self._tables[name] = self._tables[name].reopened()
            mine = found.events.filter(
                pc.and_(
                    pc.equal(found.events["source"], name),
                    pc.greater(found.events["ends"], mirror.last_batch),
                )
            )
            if not mine.num_rows:
                continue
            truncated, counting = after_truncate(mine)
            typed = mirror.read_events(counting)
            shares[name] = (truncated, typed.rows)
            quarantined.append(typed.broken)
            self._note_gaps(name, typed.lacking, typed.nulls)
        strangers = pc.invert(pc.is_in(found.events["source"], pa.array(list(self._tables))))
        if pc.any(strangers).as_py():
            unknown = found.events.filter(strangers)
            quarantined.append(refused(unknown, "no such table is mirrored"))
        self._quarantine(quarantined, found.ends)
        for name, (truncated, rows) in shares.items():
            self._tables[name].write_events(
                rows, found.ends, truncated=truncated, write=self._write
            )
        self._counts.batches += 1
        self._counts.events += found.events.num_rows

    def _note_gaps(self, name: str, lacking: frozenset[str], nulls: frozenset[str]) -> None:
        mirror = self._tables[name]
        if lacking and mirror.state.copy_after is None:
            logger.warning("events of %s lack %s; copying it again", name, ", ".join(lacking))
            state = replace(mirror.state, copy_after=log_end(self._connection))
            self._tables[name] = mirror.with_state(state)
        special = {c.name for c in mirror.state.columns if c.type.startswith(_SPECIAL_TYPES)}
        if nulls & special:
            self._check_special.add(name)

    def _quarantine(self, broken: Sequence[pa.Table], ends: int) -> None:
        options = self._options(QUARANTINE_NAME)
        reference = table_reference(options)
        try:
            done = last_batch(open_table(reference.config, reference.identifier), self._writer)
        except NotFoundError:
            done = -1
        new = [table.filter(pc.greater(table["ends"], done)) for table in broken]
        batch = StreamBatch(query_id=self._writer, batch_id=ends)
        self._counts.quarantined += write_quarantine(options, new, batch=batch)

    # Copies

    def _patch_special(self) -> None:
        """Fetch the values that the log shows as null though they are not."""
        names, self._check_special = self._check_special, set()
        if "numeric-data-types-as-string" in self._plugin_options:
            return
        for name in sorted(names):
            mirror = self._tables[name]
            columns = [c for c in mirror.state.columns if c.type.startswith(_SPECIAL_TYPES)]
            if columns and not self._copies.copy_now(mirror, only_special=True):
                self._check_special.add(name)

    def _copy_due(self, reached: int) -> None:
        for name, mirror in list(self._tables.items()):
            due = mirror.state.copy_after
            if due is None or due > reached:
                continue
            if self._copies.copy_now(mirror, only_special=False):
                logger.info("copied %s again", name)
                state = replace(mirror.state, copy_after=None, copy_replaces=False)
                self._tables[name] = mirror.with_state(state)
