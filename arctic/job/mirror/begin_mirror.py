"""How a mirror begins: a place of the log, and for each source a table that follows it.

Rules:
    - Where the log begins with the mirror, the first copy sees that very moment.
    - A table that joins a log which began before it is copied once the log is followed up to the
      moment at which it joined. So is one that misses a part of the log, as it was left out of a
      run, or somebody else let that part be forgotten: until then it keeps the rows that it has.
    - Where the source remembers one place for all tables, a writer is that of exactly these tables:
      with others, they get a new one before anything is confirmed.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from arctic.cdc.source_table import SourceTable
from arctic.errors import ConflictError
from arctic.job.mirror.mirror_copies import Copies
from arctic.job.mirror.mirror_settings import MirrorSettings, names_of, target_of
from arctic.job.mirror.mirror_source import MirrorSource
from arctic.job.mirror.mirror_table import MirrorTable, create_mirror, new_state, open_mirror
from arctic.job.mirror.sources.shared_place import held_up_to, tables_beside
from arctic.job.reference import TableReference

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunMirror:
    """What a session follows."""

    writer: str
    """Names the batches of this log."""
    tables: Mapping[str, MirrorTable]
    """By source."""
    joined: frozenset[str]
    """Sources whose table was not made with the log, or was not made now."""


def begin_mirror(settings: MirrorSettings, source: MirrorSource, copies: Copies) -> BegunMirror:
    """Have a log, and tables that follow it."""
    asked = [target_of(text) for text in settings.tables]
    described = source.describe([table for table, _ in asked])
    names = names_of((s.full_name, name) for s, (_, name) in zip(described, asked, strict=True))
    sources = tuple({each.full_name: each for each in described}.values())
    system = source.system()
    places = {full_name: settings.reference(name) for full_name, name in names.items()}
    mirrors = {
        s.full_name: open_mirror(places[s.full_name], system, source.dialect) for s in sources
    }
    new = f"cdc.{settings.slot}.{secrets.token_hex(5)}"
    beginning = _Beginning(
        settings=settings,
        source=source,
        copies=copies,
        system=system,
        places=places,
        names=names,
    )
    moment = source.first_moment(sources)
    if moment is not None:
        tables = beginning.first_copy(sources, mirrors, new, moment)
        return BegunMirror(writer=new, tables=tables, joined=frozenset())
    writer, tables = beginning.going_on(mirrors, new)
    return BegunMirror(
        writer=writer,
        tables={
            name: tables.get(name) or beginning.joined(each, mirrors[name], writer)
            for name, each in zip(names, sources, strict=True)
        },
        joined=frozenset(names),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Beginning:
    """What every table of a beginning shares."""

    settings: MirrorSettings
    source: MirrorSource
    copies: Copies
    system: str
    places: Mapping[str, TableReference]
    """Source -> its table."""
    names: Mapping[str, str]
    """Source -> the name of its table."""

    @property
    def beside(self) -> tuple[str, ...]:
        """Names of all tables, in order."""
        return tuple(sorted(self.names.values()))

    def first_copy(
        self,
        sources: Sequence[SourceTable],
        mirrors: Mapping[str, MirrorTable | None],
        writer: str,
        moment: AbstractContextManager[None],
    ) -> dict[str, MirrorTable]:
        """Copy every table as it is where the log begins."""
        begun = {s.full_name: self._empty(s, mirrors[s.full_name], writer) for s in sources}
        with moment:
            for source in sources:
                mirror = begun[source.full_name]
                now = self.source.find(source.full_name, mirror.state)
                if now is None or not now.is_current or not mirror.is_like(now):
                    raise ConflictError(
                        f"table {source.full_name} was altered while its copy began; run again"
                    )
                logger.info("copying %s", source.full_name)
                self.copies.copy(mirror, now, mode="append")
        shared = self._shared()
        return {name: _complete(mirror.reopened(), shared) for name, mirror in begun.items()}

    def going_on(
        self, mirrors: Mapping[str, MirrorTable | None], new: str
    ) -> tuple[str, dict[str, MirrorTable]]:
        """Return the writer, and the mirrors that the log still has everything for."""
        complete = {name: m for name, m in mirrors.items() if m and m.state.is_complete}
        by_name = {self.names[source]: (m.state, m.opened) for source, m in complete.items()}
        there = tables_beside(by_name, self.settings)
        going = {
            name: mirror
            for name, mirror in complete.items()
            if self.source.goes_on(mirror.state, held_up_to(mirror.state, mirror.opened, there))
        }
        writers = sorted({mirror.state.writer for mirror in going.values()})
        confirmed = self.source.confirmed()
        if confirmed is None:
            writer = next(iter(writers), new)
            return writer, {name: m for name, m in going.items() if m.state.writer == writer}
        if len(writers) == 1 and all(m.state.beside == self.beside for m in going.values()):
            return writers[0], going
        # What the others note is not needed any more when the last one goes.
        by_note = sorted(going.items(), key=lambda each: each[1].state.noted)
        return new, {name: self._moved(mirror, new, confirmed) for name, mirror in by_note}

    def _moved(self, mirror: MirrorTable, writer: str, confirmed: int) -> MirrorTable:
        """Return a mirror whose batches another writer names from now on."""
        state = mirror.state.beyond(max(mirror.last_batch, confirmed))
        return mirror.with_state(replace(state, writer=writer, **self._shared()))

    def joined(self, source: SourceTable, mirror: MirrorTable | None, writer: str) -> MirrorTable:
        """Return a mirror that follows a log which began before it: its rows are copied later."""
        if mirror is not None and mirror.state.is_complete:
            logger.warning("table %s lacks a part of the log; copying it again", source.full_name)
        # Before the columns are looked at: what alters them later is still to come in the log.
        end = self.source.log_end()
        return _complete(self._begun(source, mirror, writer), self._shared(), copy_after=end)

    def _shared(self) -> dict[str, Any]:
        """Return what the state says of all tables, where the source remembers one place."""
        confirmed = self.source.confirmed()
        return {} if confirmed is None else {"beside": self.beside, "noted": confirmed}

    def _empty(self, source: SourceTable, mirror: MirrorTable | None, writer: str) -> MirrorTable:
        """Return the mirror, empty and with the columns of the source."""
        begun = self._begun(source, mirror, writer)
        if mirror is not None:
            self.copies.clear(begun)
        return begun

    def _begun(self, source: SourceTable, mirror: MirrorTable | None, writer: str) -> MirrorTable:
        """Return the mirror with the columns of the source, and the rows that it has."""
        if mirror is None:
            return create_mirror(
                self.places[source.full_name],
                source,
                system=self.system,
                writer=writer,
                partition_by=self.settings.partition_by.get(source.full_name, ()),
                dialect=self.source.dialect,
            )
        # With the numbers that the mirror has for its columns.
        source = self.source.find(source.full_name, mirror.state) or source
        mirror = mirror.brought_in_step(source, 0)
        return mirror.with_state(new_state(source, system=self.system, writer=writer))


def _complete(
    mirror: MirrorTable, shared: Mapping[str, Any], *, copy_after: int | None = None
) -> MirrorTable:
    state = replace(mirror.state, is_complete=True, **shared)
    if copy_after is not None:
        # Events up to there are in the copy; the log may not have all of them any more.
        state = replace(state.beyond(copy_after), copy_after=copy_after, copy_replaces=True)
    return mirror.with_state(state)
