"""What a verb must be allowed to do in the object store: as little as docs/security.md says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from benchmarks.requests.object_store import ObjectStore, object_store

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("city", pa.string())])
ROWS = pa.table({"id": [1, 2], "city": ["Rome", "Oslo"]}, schema=SCHEMA)
AT_ONCE = {
    "change.data.ttl.minutes": "0",
    "clean-orphan-file.min-existing-time-minutes": "0",
    "snapshot.keep.duration": "0min",
}
ROLES = {
    "reader": ["GetObject"],
    "writer": ["GetObject", "PutObject"],
    "maker": ["GetObject", "PutObject", "ListBucket"],
    "cleaner": ["GetObject", "PutObject", "ListBucket", "DeleteObject"],
}
"""Each may do what those before it may."""

Call = Callable[[str, Mapping[str, str]], Any]


@pytest.fixture(scope="module")
def keys() -> Iterator[tuple[ObjectStore, dict[str, tuple[str, str]]]]:
    """Return a server that knows these roles alone."""
    with object_store() as store:
        known = {name: store.user(name, *may) for name, may in ROLES.items()}
        known["anybody"] = store.demand_signatures()
        yield store, known


def made(name: str, catalog: Mapping[str, str]) -> None:
    """Make a table whose stores both have rows, and files that nobody needs."""
    arctic.create_table(name, SCHEMA, primary_key=["id"], catalog=catalog)
    for _ in range(2):
        arctic.write(name, ROWS, catalog=catalog)
        arctic.optimize(name, type="full", catalog=catalog)
    arctic.write(name, ROWS, catalog=catalog)


def delete(name: str, catalog: Mapping[str, str]) -> None:
    """Delete a row by a condition."""
    arctic.open_table(name, catalog=catalog).delete("city = 'Rome'")


def expire(name: str, catalog: Mapping[str, str]) -> None:
    """Remove files; it says which of them have stayed."""
    report = arctic.expire(name, options=AT_ONCE, catalog=catalog)
    for note in report.notes:
        raise arctic.StorageError(note)


VERBS: dict[str, tuple[str, Call]] = {
    "read": ("reader", lambda name, at: arctic.read(name, catalog=at).read_all()),
    "changes": ("reader", lambda name, at: arctic.read_changes(name, catalog=at).read_all()),
    "upsert": ("writer", lambda name, at: arctic.write(name, ROWS, catalog=at)),
    "delete": ("writer", delete),
    "optimize": ("writer", lambda name, at: arctic.optimize(name, type="full", catalog=at)),
    "evolve": (
        "writer",
        lambda name, at: arctic.evolve_schema(name, add={"n": pa.int32()}, catalog=at),
    ),
    "create": ("maker", lambda name, at: arctic.create_table(f"{name}_new", SCHEMA, catalog=at)),
    "publish": ("maker", lambda name, at: arctic.publish(name, catalog=at)),
    "expire": ("cleaner", expire),
}
"""The least of the roles that may, and what it does."""


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_needs_what_the_page_says_and_no_more(
    keys: tuple[ObjectStore, Mapping[str, tuple[str, str]]], tmp_path: Path, verb: str
) -> None:
    """The role before is refused, as a failure of the store; the role itself is not."""
    store, known = keys

    def catalog(role: str) -> dict[str, str]:
        pair = dict(zip(("s3.access-key-id", "s3.secret-access-key"), known[role], strict=True))
        return {**store.catalog(tmp_path / "catalog.db", folder=verb), **pair}

    made("shop.t", catalog("anybody"))
    least, call = VERBS[verb]
    before = list(ROLES)[: list(ROLES).index(least)][-1:]
    for role in before:
        with pytest.raises(arctic.StorageError):
            call("shop.t", catalog(role))
    call("shop.t", catalog(least))

    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {least} |")]
    assert all(f"`s3:{each}`" in row for each in ROLES[least])
    assert verb in row
