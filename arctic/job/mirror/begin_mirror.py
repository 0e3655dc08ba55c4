"""How a mirror begins: a slot, and for each source a table that follows it.

Rules:
    - The first copy sees the very moment at which the slot begins.
    - A table that joins a slot which began before it is copied once the log is followed up to the
      moment at which it joined.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arctic.errors import ConflictError
from arctic.job.mirror.mirror_copies import Copies
from arctic.job.mirror.mirror_settings import MirrorSettings, check_names, target_of
from arctic.job.mirror.mirror_table import MirrorTable, create_mirror, new_state, open_mirror
from arctic.job.reference import TableReference
from arctic.postgres.copy import one_moment
from arctic.postgres.slot import created_slot, find_slot, log_end, system_of
from arctic.postgres.source_tables import SourceTable, describe_tables, find_table

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunMirror:
    """What a session follows."""

    writer: str
    """Names the batches of this slot."""
    tables: Mapping[str, MirrorTable]
    """By source."""
    joined: frozenset[str]
    """Sources whose table was not made with the slot, or was not made now."""


def begin_mirror(settings: MirrorSettings, connection: Any, copies: Copies) -> BegunMirror:
    """Have a slot, and tables that follow it."""
    asked = [target_of(text) for text in settings.tables]
    sources = describe_tables(connection, [table for table, _ in asked])
    names = {s.full_name: name for s, (_, name) in zip(sources, asked, strict=True)}
    check_names(names)
    system = system_of(connection)
    places = {source: settings.reference(name) for source, name in names.items()}
    mirrors = {s.full_name: open_mirror(places[s.full_name], system) for s in sources}
    new = f"cdc.{settings.slot}.{secrets.token_hex(5)}"
    beginning = _Beginning(
        settings=settings, connection=connection, copies=copies, system=system, places=places
    )
    if find_slot(connection, settings.slot) is None:
        tables = beginning.first_copy(sources, mirrors, new)
        return BegunMirror(writer=new, tables=tables, joined=frozenset())
    writers = {m.state.writer for m in mirrors.values() if m and m.state.is_complete}
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
    connection: Any
    copies: Copies
    system: str
    places: Mapping[str, TableReference]
    """Source -> its table."""

    def first_copy(
        self,
        sources: Sequence[SourceTable],
        mirrors: Mapping[str, MirrorTable | None],
        writer: str,
    ) -> dict[str, MirrorTable]:
        """Create the slot, and copy every table as it is where the slot begins."""
        names = [(source.schema, source.name) for source in sources]
        begun = {s.full_name: self._empty(s, mirrors[s.full_name], writer) for s in sources}
        with (
            created_slot(self.settings.dsn, self.settings.slot) as snapshot,
            one_moment(self.connection, names, snapshot=snapshot),
        ):
            for source in sources:
                now = find_table(self.connection, source.schema, source.name)
                mirror = begun[source.full_name]
                if now is None or not now.is_current or not mirror.is_like(now):
                    raise ConflictError(
                        f"table {source.full_name} was altered while its copy began; run again"
                    )
                logger.info("copying %s", source.full_name)
                self.copies.copy(mirror, now, mode="append")
        return {name: _complete(mirror.reopened()) for name, mirror in begun.items()}

    def joined(self, source: SourceTable, mirror: MirrorTable | None, writer: str) -> MirrorTable:
        """Return a mirror that follows a slot which began before it: its rows are copied later."""
        if mirror is not None and mirror.state.is_complete and mirror.state.writer == writer:
            return mirror
        return _complete(self._empty(source, mirror, writer), copy_after=log_end(self.connection))

    def _empty(self, source: SourceTable, mirror: MirrorTable | None, writer: str) -> MirrorTable:
        """Return the mirror, empty and with the columns of the source."""
        if mirror is None:
            return create_mirror(
                self.places[source.full_name],
                source,
                system=self.system,
                writer=writer,
                partition_by=self.settings.partition_by.get(source.full_name, ()),
            )
        mirror = mirror.brought_in_step(source, 0)
        mirror = mirror.with_state(new_state(source, system=self.system, writer=writer))
        self.copies.clear(mirror)
        return mirror


def _complete(mirror: MirrorTable, *, copy_after: int | None = None) -> MirrorTable:
    state = replace(mirror.state, is_complete=True)
    return mirror.with_state(state if copy_after is None else replace(state, copy_after=copy_after))
