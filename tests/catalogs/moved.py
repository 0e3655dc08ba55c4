"""Tables that get another name, or go, between the look of a commit at its table and its change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import arctic
from arctic.iceberg.catalogs import staged_metadata
from arctic.iceberg.storage.many_snapshots import write_metadata
from tests.catalogs.verbs import SCHEMA, pairs, rows_of

KEYS = ((), ("id",))


def within_the_next_commit(
    monkeypatch: pytest.MonkeyPatch, something: Callable[[], object]
) -> None:
    """Have something happen when the next commit has looked at its table, before the change."""
    waiting = [something]

    def write_slowly(*given: Any) -> None:
        write_metadata(*given)
        if waiting:
            with ThreadPoolExecutor(1) as somebody_else:
                somebody_else.submit(waiting.pop()).result()

    monkeypatch.setattr(staged_metadata, "write_metadata", write_slowly)


def check_commit_beside(
    catalog: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, key: tuple[str, ...]
) -> None:
    """Rename, then replace a table within a commit to it: the writer is told, nothing is undone."""

    def make(name: str, ids: range) -> None:
        arctic.create_table(name, SCHEMA, primary_key=key, catalog=catalog)
        arctic.write(name, rows_of(ids, "Rome"), catalog=catalog)

    def replace() -> None:
        arctic.drop_table("shop.t", catalog=catalog)
        make("shop.t", range(7, 9))

    make("shop.t", range(3))
    within_the_next_commit(
        monkeypatch, lambda: arctic.rename("shop.t", "shop.moved", catalog=catalog)
    )
    with pytest.raises(arctic.NotFoundError):
        arctic.write("shop.t", rows_of(range(3, 6), "Oslo"), catalog=catalog)
    assert read(catalog, "shop.moved") == [(each, "Rome") for each in range(3)]

    make("shop.t", range(3))
    within_the_next_commit(monkeypatch, replace)
    with pytest.raises(arctic.ConflictError):
        arctic.write("shop.t", rows_of(range(3, 6), "Oslo"), catalog=catalog)
    assert read(catalog, "shop.t") == [(each, "Rome") for each in range(7, 9)]

    for name in ("shop.t", "shop.moved"):
        arctic.drop_table(name, catalog=catalog)


def read(catalog: Mapping[str, str], name: str) -> list[tuple[Any, ...]]:
    """Return all rows, in order: one that is doubled shows."""
    return pairs(arctic.read(name, catalog=catalog).read_all())
