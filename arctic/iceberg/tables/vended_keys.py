"""Keys of an object store that a REST catalog hands out with a table, asked for again as they end.

A task begins with the keys that the driver was given, and may begin late or take long. So whoever
opens a file asks here for the keys of that file, in whatever process it is.

Rules:
    - Keys are asked for again some minutes before the catalog said that they end; where it did not
      say, once they are some minutes old; and where a store has refused them. One that refuses
      those too means something else: nobody asks again for a minute.
    - Each store has its own: a catalog may hand out keys that open one folder.
    - Who cannot ask the catalog, as a machine that does not reach it, goes on with what it has.
    - One thread of a process asks for all. A child of a fork does not wait for one of its parent.

Must not know: what a key looks like.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from pyiceberg.table import Table

from arctic.errors import ArcticError
from arctic.iceberg.catalogs.catalog import CatalogConfig, load_table, open_catalog
from arctic.iceberg.storage.table_io import TableIO
from arctic.last_used import LastUsed
from arctic.retry import Turns

_ENDS = ("s3.session-token-expires-at-ms", "gcs.oauth2.token-expires-at")
"""Properties that say when keys end, in milliseconds since 1970."""
_ENDS_PREFIX = "adls.sas-token-expires-at-ms"
"""The same, followed by the name of an account."""
_AHEAD_MS = 5 * 60_000
"""How long before that they are asked for again: a file that is open by then is read meanwhile."""
_AGE_MS = 10 * 60_000
"""How old keys become that nobody says an end of: those of AWS live for 15 minutes at least."""
_REST_MS = 60_000
"""Between two times at which a catalog is asked without need."""
_MOST = 256
"""Stores whose newest keys a process holds."""

_NEWEST: LastUsed[Any, StoreKeys] = LastUsed()
_ASKING: Turns[object] = Turns()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreKeys:
    """How the files of one store are reached."""

    table: tuple[str, ...]
    location: str
    properties: Mapping[str, str] = field(repr=False)
    asked_ms: int
    """When the catalog was asked, in milliseconds since 1970."""
    after_refusal: bool = False
    """Whether that was because a store had refused others."""

    def is_due(self, now_ms: int) -> bool:
        """Say whether it is time to ask for others."""
        if now_ms < self.asked_ms + _REST_MS:
            return False
        ends = [
            int(text)
            for name, text in self.properties.items()
            if (name in _ENDS or name.startswith(_ENDS_PREFIX)) and str(text).isdecimal()
        ]
        return now_ms >= (min(ends) - _AHEAD_MS if ends else self.asked_ms + _AGE_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class VendedKeys:
    """The keys of a table's stores; goes to tasks."""

    config: CatalogConfig
    stores: tuple[StoreKeys, ...]
    """Base first, whose keys are for what lies in neither."""

    def properties(self, path: str) -> Mapping[str, str]:
        """Return how a file is reached, by keys that have not ended as far as anybody knows."""
        known = self._newest(path)
        if known.is_due(_now_ms()):
            with _asking():
                known = self._newest(path)
                if known.is_due(_now_ms()):
                    known = self._asked(known) or replace(known, asked_ms=_now_ms())
                    self._hold(known)
        return known.properties

    def renewed(self, path: str, tried: Mapping[str, str]) -> Mapping[str, str] | None:
        """Return how a file is reached by other keys than those tried; None: by none."""
        with _asking():
            known = self._newest(path)
            if not _are_same(known.properties, tried):
                return known.properties
            if known.after_refusal and _now_ms() < known.asked_ms + _REST_MS:
                return None
            asked = self._asked(known) or replace(known, asked_ms=_now_ms())
            self._hold(replace(asked, after_refusal=True))
            return None if _are_same(asked.properties, tried) else asked.properties

    def _newest(self, path: str) -> StoreKeys:
        inside = [each for each in self.stores if path.startswith(each.location.rstrip("/") + "/")]
        given = max(inside or self.stores[:1], key=lambda each: len(each.location))
        held = _NEWEST.get(self._place(given))
        return given if held is None or held.asked_ms < given.asked_ms else held

    def _asked(self, known: StoreKeys) -> StoreKeys | None:
        now_ms = _now_ms()
        try:
            store = load_table(open_catalog(self.config), known.table)
        except ArcticError:
            return None
        found = None if store is None else TableIO.of(store).properties
        if found is None:
            return None
        return replace(known, properties=found, asked_ms=now_ms, after_refusal=False)

    def _hold(self, keys: StoreKeys) -> None:
        _NEWEST.put(self._place(keys), keys, weight=1, most=_MOST)

    def _place(self, keys: StoreKeys) -> Any:
        config = self.config
        who = tuple(sorted(config.properties.items()))
        return config.name, config.warehouse, who, keys.table, keys.location


def with_vended_keys(config: CatalogConfig, stores: tuple[Table, ...], opened_ms: int) -> TableIO:
    """Return the access to the files of stores of one table, with keys that go on.

    Args:
        config: a REST catalog.
        stores: of the table, base first.
        opened_ms: when they were loaded, in milliseconds since 1970.
    """
    plain = TableIO.of(stores[0])
    if not any(map(_has_own, stores)):
        return plain
    keys = [
        StoreKeys(
            table=tuple(store.name()),
            location=store.location(),
            properties=TableIO.of(store).properties,
            asked_ms=opened_ms,
        )
        for store in stores
    ]
    return replace(plain, keys=VendedKeys(config=config, stores=tuple(keys)))


def _has_own(store: Table) -> bool:
    """Say whether a store came with more than the catalog's own properties."""
    given = store.catalog.properties
    return any(given.get(name) != text for name, text in TableIO.of(store).properties.items())


def _are_same(some: Mapping[str, str], others: Mapping[str, str]) -> bool:
    """Say whether a store cannot tell them apart: what logs in to the catalog is no text."""
    return all(
        some.get(name) == others.get(name)
        for name in {*some, *others}
        if isinstance(some.get(name, ""), str) and isinstance(others.get(name, ""), str)
    )


def _asking() -> AbstractContextManager[object]:
    """Wait until no other thread asks."""
    return _ASKING.turn("keys", object(), most=1)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
