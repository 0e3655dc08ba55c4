"""How a catalog is asked for attempts at commits."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from arctic.iceberg.catalogs.over_http.timed_rest import _SEVERAL, TimedRestCatalog
from arctic.iceberg.catalogs.staged_metadata import TableCommit
from arctic.iceberg.commits.asking.sending import sent
from arctic.iceberg.commits.asking.staged_snapshot import OtherStore, StagedSnapshot
from tests.iceberg.stores import make


class Refusing(TimedRestCatalog):
    """Notes which stores it is asked for, and lets nothing land."""

    def __init__(self) -> None:
        self.name, self.properties = "rest", {}
        self._supported_endpoints = {_SEVERAL}
        self.asked: list[tuple[str, ...]] = []

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> Any:
        """Refuse one."""
        self.asked.append((table.name()[1],))
        raise CommitFailedException

    def commit_several(self, commits: Sequence[TableCommit]) -> None:
        """Refuse several."""
        self.asked.append(tuple(each.table.name()[1] for each in commits))
        raise CommitFailedException


def test_the_other_store_is_compared_though_not_all_fit_into_one_request(tmp_path: Path) -> None:
    """A table with a token of its own is asked for alone, and the others as ever."""
    opened = make(tmp_path)
    assert opened.change is not None
    catalog = Refusing()
    with_token = seen_by(catalog, opened.base, "token")
    change, base = seen_by(catalog, opened.change), seen_by(catalog, opened.base)
    together = [attempt(change, beside=base), attempt(with_token)]

    assert all(isinstance(each, CommitFailedException) for each in sent(together))
    assert catalog.asked == [("t", "t_change_"), ("t",)]


def seen_by(catalog: TimedRestCatalog, store: Table, *config: str) -> Table:
    """Return a store as one of another catalog."""
    seen = copy(store)
    seen.catalog, seen.config = catalog, dict.fromkeys(config, "x")
    return seen


def attempt(store: Table, *, beside: Table | None = None) -> StagedSnapshot:
    """Return an attempt that changes nothing."""
    return StagedSnapshot(
        table=store,
        snapshot_id=1,
        sequence_number=1,
        parent_id=None,
        updates=(),
        requirements=(),
        discard=lambda: None,
        other=None if beside is None else OtherStore(store=beside),
    )
