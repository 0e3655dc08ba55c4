"""What changed in a catalog since the last look.

Rules:
    - A table where nothing changed costs one load of each of its stores, and no list of files.
    - A table that cannot be looked at is told of once for each reason, and keeps nobody waiting.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice

from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.commits.lease import Lease, lease_of
from arctic.iceberg.snapshots.heads import CatalogHeads, TableHead, catalog_heads, table_heads
from arctic.job.upkeep.asked_upkeep import AskedOptimize
from arctic.service.event_log import Say, why
from arctic.service.watching.look_clock import LookClock
from arctic.service.watching.table_look import TableLook
from arctic.service.watching.wishes import Wishes

_AHEAD = 4
"""Looks that wait for each thread, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """One table at one look."""

    name: str
    places: tuple[str, ...]
    wishes: Wishes
    lease: Lease | None
    look: TableLook | None
    """None: it is not to be optimized, or not by this service."""


@dataclass(slots=True, kw_only=True)
class Watch:
    """Looks at the tables of one catalog, and remembers what it saw."""

    config: CatalogConfig
    asked: Callable[[str], AskedOptimize]
    groups: frozenset[str]
    """Tables of others are not listed."""
    threads: int
    say: Say
    clock: LookClock = field(default_factory=LookClock)
    _heads: CatalogHeads | None = None
    _seen: dict[str, Watched] = field(default_factory=dict)
    _told: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Guards what was seen and told, which others may ask for."""

    def look(self) -> tuple[list[Watched], list[str]]:
        """Look at every table: those that could be looked at, and the names of those that are gone.

        Raises:
            ArcticError: the catalog cannot be reached.
        """
        heads = catalog_heads(
            self.config, threads=self.threads, before=self._heads, heard=self.clock.heard
        )
        self._heads = heads
        return self._taken(heads, self._seen.keys() | self._told.keys())

    def look_at(self, names: Collection[str]) -> tuple[list[Watched], list[str]]:
        """Look at some tables; as ``look``.

        Raises:
            ArcticError: the catalog cannot be reached.
        """
        return self._taken(table_heads(self.config, names), names)

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
        self, heads: CatalogHeads, asked: Collection[str]
    ) -> tuple[list[Watched], list[str]]:
        for name, error in heads.broken.items():
            self._tell(name, error)
        found = list(self._looked(iter(heads.tables)))
        there = {head.name for head in heads.tables} | heads.broken.keys()
        gone = [name for name in asked if name not in there]
        for name in gone:
            with self._lock:
                was = self._seen.pop(name, None)
                self._told.pop(name, None)
            if was is not None:
                self.say("dropped", table=name)
        return found, gone

    def _looked(self, heads: Iterator[TableHead]) -> Iterator[Watched]:
        with ThreadPoolExecutor(self.threads) as pool:
            while batch := list(islice(heads, self.threads * _AHEAD)):
                for head, found in zip(batch, pool.map(self._look_at, batch), strict=True):
                    self.clock.heard()
                    if isinstance(found, Exception):
                        self._tell(head.name, found)
                        continue
                    if head.name not in self._seen:
                        self.say("found", table=head.name, group=found.wishes.group)
                    with self._lock:
                        self._seen[head.name] = found
                        self._told.pop(head.name, None)
                    yield found

    def _look_at(self, head: TableHead) -> Watched | Exception:
        before = self._seen.get(head.name)
        if before is not None and before.places == head.places:
            return before
        try:
            wishes = Wishes.of(head.properties)
            look = None
            if wishes.is_optimized and wishes.group in self.groups:
                look = TableLook.of(self.asked(head.name))
        except Exception as error:  # noqa: BLE001 - a table must not stop the service
            return error
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
            self.say("failed", table=name, what="looking", why=said)
