"""Every verb on a table whose files lie in an object store, and what each asks the store for.

A table goes through a life: written, changed, optimized, published, cleaned, dropped.
After each verb that changes rows they are compared with a dictionary.

Rules:
    - The process is new to the table only where it says so; else it knows what it has read and
      written, as a service or a notebook does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import arctic
from arctic.iceberg.catalogs.change_store import SEEN
from arctic.iceberg.metadata.entries import CACHE
from arctic.iceberg.storage.cache.kept_small_files import KEPT_SMALL_FILES
from arctic.iceberg.storage.kept_metadata import KEPT, KEPT_FILES
from arctic.mor.files.kept_footers import KEPT_FOOTERS
from benchmarks.requests.object_store import Asked, ObjectStore

NAME = "shop.users"
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string())])
ROWS = 40
NODES = 4
_STATED = {
    "base.file-index.hash-bucket": str(NODES),
    "change.file-index.hash-bucket": str(NODES),
}
"""A table that does not state its nodes is one file of each kind as long as it is tiny."""
IN_ALL_NODES = 2_000
"""Rows of a write that are worth a file in each of four nodes."""
NOW = {"snapshot.keep.duration": "0s", "snapshot.keep.min-count": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one verb asked the store for."""

    verb: str
    asked: tuple[Asked, ...]

    def count(self, *kinds: str) -> int:
        """Return how many requests were of these kinds."""
        return sum(each.kind in kinds for each in self.asked)


def forget() -> None:
    """Be as new to every table as a process that has just begun."""
    KEPT.forget()
    KEPT_FILES.forget()
    KEPT_SMALL_FILES.forget()
    KEPT_FOOTERS.forget()
    CACHE.forget()
    SEEN.forget()


class Life:
    """One table, and what must be in it."""

    def __init__(
        self,
        store: ObjectStore,
        catalog: Mapping[str, str],
        *,
        written: int = ROWS,
        states_nodes: bool = False,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._written = written
        """Rows of each upsert at the beginning: 40 go to one node."""
        self._properties = _STATED if states_nodes else {}
        self.rows: dict[int, str] = {}

    def costs(self) -> Iterator[Cost]:
        """Live through it; yield what each verb cost."""
        for verb, call in self._verbs():
            self._store.asked()
            call()
            yield Cost(verb=verb, asked=tuple(self._store.asked()))

    def begin(self) -> None:
        """Make the table, and write it three times."""
        self._create()
        for first, city in ((0, "Rome"), (10, "Oslo"), (20, "Bern")):
            self._upsert(range(first, first + self._written), city)

    def change(self) -> None:
        """Upsert as many rows again."""
        self._upsert(range(self._written), "Kyiv")

    def changes(self) -> None:
        """Read all events."""
        self.table().read_changes().read_all()

    def optimize(self) -> None:
        """Merge what was changed into base."""
        self.table().optimize(type="minor")

    def table(self) -> arctic.Table:
        """Open the table."""
        return arctic.open_table(NAME, catalog=self._catalog)

    def _verbs(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        yield "create", self._create
        yield "upsert", lambda: self._upsert(range(ROWS), "Rome")
        yield "upsert", lambda: self._upsert(range(10, ROWS + 10), "Oslo")
        forget()
        yield "upsert, new process", lambda: self._upsert(range(20, ROWS + 20), "Bern")
        forget()
        yield "read, new process", self.check
        yield "read", self.check
        yield "status", lambda: self.table().status()
        yield "explain", lambda: self.table().explain()
        yield "changes", self.changes
        yield "optimize, minor", self.optimize
        yield "delete where", self._delete
        yield "update where", self._update
        yield "merge", self._merge
        yield "optimize, major", lambda: self.table().optimize(type="major")
        yield "upsert", lambda: self._upsert(range(5), "Kyiv")
        yield "publish", lambda: arctic.publish(NAME, catalog=self._catalog)
        yield "optimize, full", lambda: self.table().optimize(type="full")
        forget()
        yield "read, new process", self.check
        yield "append", self._append
        yield "expire", lambda: self.table().expire(options=NOW)
        yield "clean orphans", lambda: self.table().clean_orphans()
        yield "read", self.check
        self.table().set_properties(_STATED)
        yield f"upsert, {NODES} nodes", lambda: self._upsert(range(IN_ALL_NODES), "Linz")
        self.check()
        yield "unpublish", lambda: arctic.unpublish(NAME, catalog=self._catalog)
        yield "drop, purge", lambda: arctic.drop_table(NAME, purge=True, catalog=self._catalog)

    def check(self) -> None:
        """Compare the rows with what they must be."""
        read = arctic.read(NAME, catalog=self._catalog).read_all()
        found = dict(zip(read["id"].to_pylist(), read["city"].to_pylist(), strict=True))
        if found != self.rows or read.num_rows != len(found):
            raise AssertionError(f"{read.num_rows} rows are not the {len(self.rows)} expected")

    def _create(self) -> None:
        # As many tasks on every machine: tasks that share a file read it each for itself.
        fixed = {"parallelism": "2", **self._properties}
        arctic.create_table(
            NAME, SCHEMA, primary_key=["id"], properties=fixed, catalog=self._catalog
        )

    def _upsert(self, keys: range, city: str) -> None:
        self._write(dict.fromkeys(keys, city), "upsert")

    def _append(self) -> None:
        self._write(dict.fromkeys(range(1_000, 1_010), "Lima"), "append")

    def _write(self, rows: Mapping[int, str], mode: str) -> None:
        self.table().write(self._arrow(rows), mode=mode)
        self.rows.update(rows)

    def _delete(self) -> None:
        self.table().delete("id < 3")
        self.rows = {key: city for key, city in self.rows.items() if key >= 3}

    def _update(self) -> None:
        self.table().update("id = 30", set={"city": "'Nuuk'"})
        self.rows[30] = "Nuuk"

    def _merge(self) -> None:
        new = {3: "Male", 2_000: "Male"}
        merge = self.table().merge(self._arrow(new), "id")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()
        self.rows.update(new)

    @staticmethod
    def _arrow(rows: Mapping[int, str]) -> pa.Table:
        return pa.table({"id": list(rows), "city": list(rows.values())}, schema=SCHEMA)
