"""The steps by which a mirror follows the log.

Rules:
    - A batch is confirmed to the slot after every table has committed its share. Each commit says
      up to where of the log it goes, so a table skips what it holds when a batch comes again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from arctic.cdc.events import Events, after_truncate
from arctic.errors import NotFoundError
from arctic.job.mirror.apply_events import Share, apply_events
from arctic.job.mirror.begin_mirror import begin_mirror
from arctic.job.mirror.mirror_copies import Copies
from arctic.job.mirror.mirror_log import MirrorLog, special_columns
from arctic.job.mirror.mirror_settings import QUARANTINE_NAME, MirrorReport, MirrorSettings
from arctic.job.mirror.mirror_state import MirrorState
from arctic.job.mirror.write_changes import WriteRows, last_batch, write_quarantine
from arctic.job.ordered_table import refuse_ordered
from arctic.postgres.source_tables import check_mirrorable, find_table, parse_name
from arctic.table.streams.stream_batch import StreamBatch

logger = logging.getLogger(__name__)


class MirrorSession:
    """The tables of a mirror, while one process has the slot to itself."""

    def __init__(self, settings: MirrorSettings, connection: Any, write: WriteRows) -> None:
        """Have a slot, and tables that follow it."""
        self._connection = connection
        self._write = write
        self._copies = Copies(connection, write)
        begun = begin_mirror(settings, connection, self._copies)
        self._writer = begun.writer
        self._tables = dict(begun.tables)
        self._suspects = set(begun.joined)
        """Sources of which the log may have shown numbers as null."""
        self._log = MirrorLog.open(
            connection, settings.slot, list(self._tables), max_changes=settings.max_changes
        )
        self._quarantine = settings.reference(QUARANTINE_NAME)
        self.report = MirrorReport(batches=0, events=0, quarantined=0, place=0)
        """What was done so far."""

    @property
    def is_behind(self) -> bool:
        """Whether a table waits for a copy."""
        return any(table.state.copy_after is not None for table in self._tables.values())

    def step(self) -> bool:
        """Mirror one batch; return whether there was one."""
        batch = self._log.read()
        self._follow_columns()
        if not batch.is_empty:
            self._apply(batch.found)
        self._patch_special()
        self._copy_due(batch.reached)
        # Copies have no place in the log: what is broken in them is kept as it comes.
        broken = write_quarantine(self._quarantine, self._copies.take_broken(), batch=None)
        self._log.confirm(batch.reached)
        self.report = replace(
            self.report, quarantined=self.report.quarantined + broken, place=batch.reached
        )
        return not batch.is_empty

    def _follow_columns(self) -> None:
        for name, mirror in self._tables.items():
            now = find_table(self._connection, *parse_name(name))
            if now is None:
                logger.warning("table %s is gone from PostgreSQL; its mirror stays", name)
            elif not mirror.is_like(now):
                check_mirrorable(now)
                logger.info("following the columns of %s", name)
                self._tables[name] = mirror.brought_in_step(now, self._log.end())

    def _apply(self, found: Events) -> None:
        batch = StreamBatch(query_id=self._writer, batch_id=found.ends)

        def share(source: str, events: pa.Table) -> Share | None:
            return self._share(source, events, batch)

        def quarantine(broken: Sequence[pa.Table]) -> int:
            done = self._quarantined_up_to()
            new = [table.filter(pc.greater(table["ends"], done)) for table in broken]
            return write_quarantine(self._quarantine, new, batch=batch)

        count = apply_events(
            found,
            sources=self._tables,
            share_of=share,
            stranger="no such table is mirrored",
            quarantine=quarantine,
            write=self._write,
        )
        self.report = replace(
            self.report,
            batches=self.report.batches + 1,
            events=self.report.events + found.events.num_rows,
            quarantined=self.report.quarantined + count,
        )

    def _share(self, name: str, events: pa.Table, batch: StreamBatch) -> Share | None:
        mirror = self._tables[name] = self._tables[name].reopened()
        refuse_ordered(
            mirror.opened.table, "mirroring PostgreSQL, whose log is in order, into rows"
        )
        new = events.filter(pc.greater(events["ends"], mirror.last_batch))
        if not new.num_rows:
            return None
        truncated, counting = after_truncate(new)
        typed = mirror.read_events(counting)
        self._note_gaps(name, typed.lacking, typed.nulls)
        return Share(
            reference=mirror.reference,
            key=mirror.opened.table.primary_key,
            is_ordered=False,
            batch=batch,
            truncated=truncated,
            rows=typed.rows,
            broken=typed.broken,
        )

    def _note_gaps(self, name: str, lacking: frozenset[str], nulls: frozenset[str]) -> None:
        state = self._tables[name].state
        if lacking and state.copy_after is None:
            logger.warning("events of %s lack %s; copying it again", name, ", ".join(lacking))
            self._remember(name, replace(state, copy_after=self._log.end()))
        if nulls & special_columns(state):
            self._suspects.add(name)

    def _quarantined_up_to(self) -> int:
        """Return up to where of the log broken events are kept already; -1: nowhere."""
        try:
            return last_batch(self._quarantine.open(), self._writer)
        except NotFoundError:
            return -1

    def _patch_special(self) -> None:
        """Fetch the values that the log shows as null though they are not."""
        names, self._suspects = self._suspects, set()
        if self._log.is_exact:
            return
        for name in sorted(names):
            mirror = self._tables[name]
            has_special = bool(special_columns(mirror.state))
            if has_special and not self._copies.copy_now(mirror, only_special=True):
                self._suspects.add(name)

    def _copy_due(self, reached: int) -> None:
        for name, mirror in list(self._tables.items()):
            due = mirror.state.copy_after
            if due is None or due > reached:
                continue
            if self._copies.copy_now(mirror, only_special=False):
                logger.info("copied %s again", name)
                self._remember(name, replace(mirror.state, copy_after=None, copy_replaces=False))

    def _remember(self, name: str, state: MirrorState) -> None:
        self._tables[name] = self._tables[name].with_state(state)
