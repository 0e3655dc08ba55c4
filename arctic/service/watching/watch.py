"""What changed in a catalog since the last look.

Rules:
    - A table where nothing changed costs one load of each of its stores, and no list of files.
    - A table that cannot be looked at is told of once for each reason, and keeps nobody waiting.
    - A table whose storage hangs is waited for in the background. What is seen of it in the end is
      taken up by a look of its own.
    - Two looks may be under way, at all tables and at some: what the later one saw stays.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.commits.lease import Lease, lease_of
from arctic.iceberg.snapshots.heads import (
    CatalogHeads,
    TableHead,
    catalog_heads,
    loads_of,
    table_heads,
)
from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.patient_calls import PatientCalls
from arctic.service.event_log import Say, why
from arctic.service.watching.look_clock import LookClock
from arctic.service.watching.table_look import TableLook
from arctic.service.watching.wishes import Wishes

_TABLE_SECONDS = 60.0
"""How long a look waits for the files of a table to be listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """One table at one look."""

    name: str
    places: tuple[str, ...]
    wishes: Wishes
    lease: Lease | None
    look: TableLook | None
    """None: it is not to be optimized, or not by this service."""


def _nobody(name: str) -> None:
    """Tell nobody."""


class Watch:
    """Looks at the tables of one catalog, and remembers what it saw."""

    def __init__(
        self,
        *,
        config: CatalogConfig,
        asked: Callable[[str], AskedOptimize],
        groups: frozenset[str] | None,
        threads: int,
        say: Say,
    ) -> None:
        """See nothing yet.

        Args:
            config: the catalog.
            asked: returns what asks for a table.
            groups: tables of others are not listed; None: all are.
            threads: that look at a time.
            say: is told of tables that are found, dropped, or cannot be looked at.
        """
        self.clock = LookClock()
        self.outdated: Callable[[str], None] = _nobody
        """Is told of a table that is to be looked at once more."""
        self._config = config
        self._asked = asked
        self._groups = groups
        self._say = say
        self._loads = loads_of(threads=threads)
        self._named_loads = loads_of(threads=threads)
        """Others, so that a look at some tables gets no answer to a question of before."""
        self._lists: PatientCalls[str, Watched] = PatientCalls(
            threads=threads, seconds=_TABLE_SECONDS, late=lambda name: self.outdated(name)
        )
        self._heads: CatalogHeads | None = None
        self._turns = itertools.count(1)
        self._lock = threading.Lock()
        """Guards what was seen and told, which others may ask for."""
        self._seen: dict[str, Watched] = {}
        self._told: dict[str, str] = {}
        self._turn_of: dict[str, int] = {}
        """The look that saw a table last, or that it was gone."""

    def look(self) -> tuple[list[Watched], list[str]]:
        """Look at every table: those that could be looked at, and the names of those that are gone.

        Raises:
            ArcticError: the catalog cannot be reached.
        """
        with self.clock.looking():
            turn = next(self._turns)
            with self._lock:
                known = self._seen.keys() | self._told.keys()
                self._turn_of = {name: self._turn_of.get(name, 0) for name in known}
            heads = catalog_heads(
                self._config, loads=self._loads, before=self._heads, heard=self.clock.heard
            )
            self._heads = heads
            return self._taken(heads, known, turn)

    def look_at(self, names: Collection[str]) -> tuple[list[Watched], list[str]]:
        """Look at some tables; as ``look``.

        Raises:
            ArcticError: the catalog cannot be reached.
        """
        turn = next(self._turns)
        heads = table_heads(self._config, names, loads=self._named_loads)
        return self._taken(heads, names, turn)

    def is_current(self, table: Watched) -> bool:
        """Say whether no later look has seen something else of a table."""
        with self._lock:
            return self._seen.get(table.name) is table

    @property
    def seen(self) -> list[Watched]:
        """The tables as they were last looked at, sorted."""
        with self._lock:
            return sorted(self._seen.values(), key=lambda each: each.name)

    @property
    def told(self) -> dict[str, str]:
        """By table, why it could not be looked at."""
        with self._lock:
            return dict(self._told)

    def _taken(
        self, heads: CatalogHeads, asked: Collection[str], turn: int
    ) -> tuple[list[Watched], list[str]]:
        for name, error in heads.broken.items():
            self._tell(name, error)
        found = sorted(self._looked(heads.tables, turn), key=lambda each: each.name)
        there = {head.name for head in heads.tables} | heads.broken.keys()
        gone = [name for name in asked if name not in there and self._is_last(name, turn)]
        for name in gone:
            with self._lock:
                was = self._seen.pop(name, None)
                self._told.pop(name, None)
            if was is not None:
                self._say("dropped", table=name)
        return found, gone

    def _looked(self, heads: Iterable[TableHead], turn: int) -> Iterator[Watched]:
        before = {head.name: self._seen.get(head.name) for head in heads}
        changed: dict[str, TableHead] = {}
        for head in heads:
            was = before[head.name]
            if was is None or was.places != head.places:
                changed[head.name] = head
            elif self._is_last(head.name, turn):
                with self._lock:
                    self._told.pop(head.name, None)
                yield was
        for name, found in self._lists.run(lambda name: self._watched(changed[name]), changed):
            self.clock.heard()
            if isinstance(found, Exception):
                self._tell(name, found)
            elif self._is_last(name, turn):
                with self._lock:
                    is_new = name not in self._seen
                    self._seen[name] = found
                    self._told.pop(name, None)
                if is_new:
                    self._say("found", table=name, group=found.wishes.group)
                if found.places != changed[name].places:
                    # What another look asked for, or a call that was late, as the table was then.
                    self.outdated(name)
                yield found

    def _is_last(self, name: str, turn: int) -> bool:
        """Take note that a look has seen a table; false: one that began later has already."""
        with self._lock:
            if self._turn_of.get(name, 0) > turn:
                return False
            self._turn_of[name] = turn
            return True

    def _watched(self, head: TableHead) -> Watched:
        wishes = Wishes.of(head.properties)
        look = None
        if self._groups is None or (wishes.is_optimized and wishes.group in self._groups):
            look = TableLook.of(self._asked(head.name))
        return Watched(
            name=head.name,
            places=head.places,
            wishes=wishes,
            lease=lease_of(head.properties),
            look=look,
        )

    def _tell(self, name: str, error: Exception) -> None:
        said = why(error)
        with self._lock:
            is_new = self._told.get(name) != said
            self._told[name] = said
        if is_new:
            self._say("failed", table=name, what="looking", why=said)
