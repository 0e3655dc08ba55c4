"""The steps by which a mirror follows the log.

Rules:
    - A batch is confirmed to the source after every table has committed its share. Each commit says
      up to where of the log it goes, so a table skips what it holds when a batch comes again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from arctic.cdc.events import Events, after_truncate
from arctic.cdc.unread import Unread
from arctic.errors import NotFoundError
from arctic.job.mirror.apply_events import Share, apply_events
from arctic.job.mirror.begin_mirror import begin_mirror
from arctic.job.mirror.mirror_copies import Copies
from arctic.job.mirror.mirror_settings import QUARANTINE_NAME, MirrorReport, MirrorSettings
from arctic.job.mirror.mirror_source import MirrorSource
from arctic.job.mirror.mirror_state import MirrorState
from arctic.job.mirror.tell_watermark import WatermarkTeller
from arctic.job.mirror.write_changes import WriteRows, last_batch, write_quarantine
from arctic.job.ordered_table import refuse_weighed
from arctic.table.streams.stream_batch import StreamBatch

logger = logging.getLogger(__name__)


class MirrorSession:
    """The tables of a mirror, while one process has the log to itself."""

    def __init__(self, settings: MirrorSettings, source: MirrorSource, write: WriteRows) -> None:
        """Have a log, and tables that follow it."""
        writer = settings.watermark_writer
        # Looked at before the log, so that what is there can be told when it has been read.
        self._teller = None if writer is None else WatermarkTeller(writer, source.moment)
        self._source = source
        self._write = write
        self._copies = Copies(source, write)
        begun = begin_mirror(settings, source, self._copies)
        self._writer = begun.writer
        self._tables = dict(begun.tables)
        self._suspects = set(begun.joined)
        """Sources of which the log may have shown numbers as null."""
        self._unlike: set[str] = set()
        """Sources that were altered while they were to be copied."""
        places = {name: (each.state, each.last_batch) for name, each in self._tables.items()}
        self._log = source.open_log(places, settings.max_changes)
        self._quarantine = settings.reference(QUARANTINE_NAME)
        self.report = MirrorReport(batches=0, events=0, quarantined=0, place=0)
        """What was done so far."""

    @property
    def first_place(self) -> int:
        """Where of the log the tables can be told a watermark; -1: they are told none."""
        return -1 if self._teller is None else self._teller.first_place

    def tell(self, *, at_once: bool) -> None:
        """Tell the tables how far the time of the source has come in them, where that is asked."""
        if self._teller is not None:
            waiting = self._unlike | self._suspects
            whole = {name: each for name, each in self._tables.items() if name not in waiting}
            self._teller.tell(whole, self.report.place, at_once=at_once)

    @property
    def is_behind(self) -> bool:
        """Whether a table waits for a copy."""
        return any(table.state.copy_after is not None for table in self._tables.values())

    def step(self) -> bool:
        """Mirror one batch; return whether there was one."""
        if self._teller is not None:
            self._teller.tick()
        batch = self._log.read()
        self._follow_columns()
        self._note_unsaid(batch.unsaid)
        if not batch.is_empty:
            self._apply(batch.found)
        self._patch_special()
        self._copy_due(batch.reached)
        # Copies have no place in the log: what is broken in them is kept as it comes.
        broken = write_quarantine(self._quarantine, self._copies.take_broken(), batch=None)
        for name, mirror in list(self._tables.items()):
            noted = self._log.noted(mirror.state, batch.reached)
            if noted != mirror.state:
                self._remember(name, noted)
        self._log.confirm(batch.reached)
        self.report = replace(
            self.report, quarantined=self.report.quarantined + broken, place=batch.reached
        )
        self.tell(at_once=False)
        return not batch.is_empty

    def _follow_columns(self) -> None:
        for name, mirror in self._tables.items():
            if name not in self._unlike and not self._log.may_differ(mirror.state):
                continue
            self._unlike.discard(name)
            now = self._source.find(name, mirror.state)
            if now is None:
                logger.warning("table %s is gone from its source; its mirror stays", name)
                continue
            self._source.check(now)
            if not mirror.is_like(now):
                logger.info("following the columns of %s", name)
                self._tables[name] = mirror.brought_in_step(now, self._source.log_end())

    def _note_unsaid(self, names: frozenset[str]) -> None:
        for name in sorted(names):
            logger.warning("the log does not say which rows of %s changed; copying it again", name)
            state = self._tables[name].state
            due = replace(state, copy_after=self._source.log_end(), copy_replaces=True)
            self._remember(name, due)

    def _apply(self, found: Events) -> None:
        named = self._tables.keys() & set(pc.unique(found.events["source"]).to_pylist())
        said = self._log.shares(sorted(named))
        batch = StreamBatch(query_id=self._writer, batch_id=found.ends, position=said)
        committed: set[str] = set()

        def share(source: str, events: pa.Table) -> Share | None:
            share = self._share(source, events, found.unread, batch)
            if share is not None and share.is_committed:
                committed.add(source)
            return share

        def quarantine(broken: Sequence[tuple[str | None, pa.Table]]) -> int:
            done = self._quarantined_up_to()
            new = [table.filter(pc.greater(table["ends"], done)) for _, table in broken]
            return write_quarantine(self._quarantine, new, batch=batch)

        count = apply_events(
            found,
            sources=self._tables,
            share_of=share,
            stranger="no such table is mirrored",
            quarantine=quarantine,
            write=self._write,
        )
        if named and committed == named:
            self._log.taken(found.ends)
        self.report = replace(
            self.report,
            batches=self.report.batches + 1,
            events=self.report.events + found.events.num_rows,
            quarantined=self.report.quarantined + count,
        )

    def _share(
        self, name: str, events: pa.Table, unread: Unread | None, batch: StreamBatch
    ) -> Share | None:
        mirror = self._tables[name] = self._tables[name].reopened()
        refuse_weighed(
            mirror.opened.table, "mirroring PostgreSQL, whose log is in order, into rows"
        )
        new = events.filter(pc.greater(events["ends"], mirror.last_batch))
        if not new.num_rows:
            return None
        truncated, counting = after_truncate(new)
        typed = mirror.read_events(counting, unread)
        self._note_gaps(name, typed.lacking, typed.nulls)
        return Share(
            reference=mirror.reference,
            key=mirror.opened.table.primary_key,
            is_ordered=False,
            batch=batch,
            told={} if self._teller is None else self._teller.options(name),
            truncated=truncated,
            rows=typed.rows,
            broken=typed.broken,
        )

    def _note_gaps(self, name: str, lacking: frozenset[str], nulls: frozenset[str]) -> None:
        state = self._tables[name].state
        if lacking and state.copy_after is None:
            logger.warning("events of %s lack %s; copying it again", name, ", ".join(lacking))
            self._remember(name, replace(state, copy_after=self._source.log_end()))
        if nulls & self._log.misprinted(state):
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
        for name in sorted(names):
            mirror = self._tables[name]
            if not self._log.misprinted(mirror.state):
                continue
            if self._copies.copy_now(mirror, only_special=True) is None:
                self._suspects.add(name)

    def _copy_due(self, reached: int) -> None:
        for name, mirror in list(self._tables.items()):
            due = mirror.state.copy_after
            if due is None or due > reached:
                continue
            place = self._copies.copy_now(mirror, only_special=False)
            if place is None:
                self._unlike.add(name)
                continue
            logger.info("copied %s", name)
            copied = max(place, mirror.state.copied)
            done = replace(mirror.state, copy_after=None, copy_replaces=False, copied=copied)
            # Rows that the copy does not have may be in a mirror that kept others.
            self._remember(name, done.beyond(place) if mirror.state.copy_replaces else done)

    def _remember(self, name: str, state: MirrorState) -> None:
        self._tables[name] = self._tables[name].with_state(state)
