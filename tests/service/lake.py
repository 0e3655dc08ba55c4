"""A catalog whose tables have something due, and a service with a clock that stands still."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.service.ending import Ending
from arctic.service.executors.task_place import TaskPlace, ThreadPlace
from arctic.service.history.history_file import History
from arctic.service.process_book import ProcessBook
from arctic.service.scheduling.ranks import balanced
from arctic.service.table_runs import ServiceSettings
from arctic.service.table_service import TableService
from arctic.service.table_work import TableWork
from arctic.service.watching.watch import Watch
from tests.iceberg.stores import config_of

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
DUE = {"self-optimizing.minor.trigger.file-count": "2", "base.file-index.hash-bucket": "1"}
"""A single upsert makes a minor due."""
HOUR_MS = 3_600_000


@dataclass
class Lake:
    """Tables, what a service said of them, and its time."""

    folder: Path
    now_ms: int = 0
    jumped_ms: int = 0
    """By which the clock was set ahead while the service ran."""
    said: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    spoke: threading.Condition = field(default_factory=threading.Condition)
    open: list[History] = field(default_factory=list)

    @property
    def warehouse(self) -> str:
        """Where the tables are."""
        return str(self.folder)

    @property
    def config(self) -> CatalogConfig:
        """The catalog."""
        return config_of(self.folder)

    def make(self, name: str, **properties: str) -> None:
        """Create a table in which a minor is due."""
        named = {key.replace("__", ".").replace("_", "-"): text for key, text in properties.items()}
        arctic.create_table(
            name, SCHEMA, primary_key="id", properties=DUE | named, warehouse=self.warehouse
        )
        self.upsert(name)

    def upsert(self, name: str) -> None:
        """Write rows twice over."""
        for text in ("old", "new"):
            rows = pa.table({"id": [1, 2], "name": [text, text]}, schema=SCHEMA)
            arctic.write(name, rows, mode="upsert", warehouse=self.warehouse)

    def rows(self, name: str) -> list[dict[str, object]]:
        """Return what a table holds, by id."""
        found = arctic.read(name, warehouse=self.warehouse).read_all()
        rows: list[dict[str, object]] = found.sort_by("id").to_pylist()
        return rows

    def say(self, event: str, **facts: object) -> None:
        """Remember an event."""
        with self.spoke:
            self.said.append((event, facts))
            self.spoke.notify_all()

    def wait_for(self, event: str) -> None:
        """Wait until an event is said."""
        with self.spoke:
            assert self.spoke.wait_for(lambda: event in [each for each, _ in self.said], timeout=60)

    def tables(self, event: str) -> list[str]:
        """Return the tables of which an event was said, sorted."""
        return sorted(str(facts["table"]) for each, facts in self.said if each == event)

    def forget(self) -> None:
        """Forget what was said."""
        self.said.clear()

    def service(
        self,
        owner: str = "a",
        *,
        groups: dict[str, int] | None = None,
        place: Callable[[], TaskPlace] = ThreadPlace,
    ) -> TableService:
        """Return a service that is to begin."""
        slots = groups or {"default": 2}
        work = TableWork(
            config=self.config,
            place={"warehouse": self.warehouse},
            owner=owner,
            lease_ms=HOUR_MS,
            now_ms=lambda: self.now_ms,
            passed_ms=lambda: self.now_ms - self.jumped_ms,
            say=self.say,
        )
        watch = Watch(
            config=self.config,
            asked=work.asked,
            groups=frozenset(slots),
            threads=2,
            say=self.say,
        )
        settings = ServiceSettings(
            groups=slots, scheduler=balanced, interval_ms=HOUR_MS, clean_every_ms=24 * HOUR_MS
        )
        history = History(None, self.say)
        book = ProcessBook(history, work.now_ms)
        self.open.append(history)
        return TableService(work, watch, book, settings, dict.fromkeys(slots, place), Ending())

    def close(self) -> None:
        """Let go of what services remember."""
        for history in self.open:
            history.close()
