"""How a mirror begins: a place of the log, and for each source a table that follows it.

Rules:
    - Where the log begins with the mirror, the first copy sees that very moment.
    - A table that joins a log which began before it is copied once the log is followed up to the
      moment at which it joined.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from arctic.cdc.source_table import SourceTable
from arctic.errors import ConflictError
from arctic.job.mirror.mirror_copies import Copies
from arctic.job.mirror.mirror_settings import MirrorSettings, check_names, target_of
from arctic.job.mirror.mirror_source import MirrorSource
from arctic.job.mirror.mirror_table import MirrorTable, create_mirror, new_state, open_mirror
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
    sources = source.describe([table for table, _ in asked])
    names = {s.full_name: name for s, (_, name) in zip(sources, asked, strict=True)}
    check_names(names)
    system = source.system()
    places = {full_name: settings.reference(name) for full_name, name in names.items()}
    mirrors = {
        s.full_name: open_mirror(places[s.full_name], system, source.dialect) for s in sources
    }
    new = f"cdc.{settings.slot}.{secrets.token_hex(5)}"
    beginning = _Beginning(
        settings=settings, source=source, copies=copies, system=system, places=places
    )
    moment = source.first_moment(sources)
    if moment is not None:
        tables = beginning.first_copy(sources, mirrors, new, moment)
        return BegunMirror(writer=new, tables=tables, joined=frozenset())
    writers = {
        m.state.writer
        for m in mirrors.values()
        if m and m.state.is_complete and source.goes_on(m.state, m.last_batch)
    }
    writer = next(iter(sorted(writers)), new)
    return BegunMirror(
        writer=writer,
        tables={s.full_name: beginning.joined(s, mirrors[s.full_name], writer) for s in sources},
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
        return {name: _complete(mirror.reopened()) for name, mirror in begun.items()}

    def joined(self, source: SourceTable, mirror: MirrorTable | None, writer: str) -> MirrorTable:
        """Return a mirror that follows a log which began before it: its rows are copied later."""
        if mirror is not None and mirror.state.is_complete and mirror.state.writer == writer:
            return mirror
        begun = self._empty(source, mirror, writer)
        return _complete(begun, copy_after=self.source.log_end())

    def _empty(self, source: SourceTable, mirror: MirrorTable | None, writer: str) -> MirrorTable:
        """Return the mirror, empty and with the columns of the source."""
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
        mirror = mirror.with_state(new_state(source, system=self.system, writer=writer))
        self.copies.clear(mirror)
        return mirror


def _complete(mirror: MirrorTable, *, copy_after: int | None = None) -> MirrorTable:
    state = replace(mirror.state, is_complete=True)
    if copy_after is not None:
        # Events that come before the copy are in it.
        state = replace(state, copy_after=copy_after, copy_replaces=True)
    return mirror.with_state(state)
