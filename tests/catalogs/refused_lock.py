"""A commit that the catalog's database takes back, because somebody holds a lock."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import arctic
from tests.catalogs.verbs import SCHEMA, pairs, rows_of


def check_refused_lock(
    catalog: Mapping[str, str],
    folder: Path,
    *,
    locked: AbstractContextManager[object],
    retries: int,
) -> None:
    """Write while the rows of the catalog are locked, and after it.

    Args:
        catalog: whose sessions do not wait long for a lock.
        folder: where its tables lie.
        locked: a session of somebody else who holds the rows.
        retries: of a commit.
    """
    arctic.create_table(
        "shop.t",
        SCHEMA,
        primary_key=["id"],
        properties={"commit.retry.num-retries": str(retries)},
        catalog=catalog,
    )
    arctic.write("shop.t", rows_of(range(3), "Rome"), mode="upsert", catalog=catalog)
    files = metadata_files(folder)
    refused = f"other commits won {retries + 1} attempts"
    with locked, pytest.raises(arctic.ConflictError, match=refused):
        arctic.write("shop.t", rows_of(range(5), "Oslo"), mode="upsert", catalog=catalog)

    assert metadata_files(folder) == files
    arctic.write("shop.t", rows_of(range(1, 5), "Lima"), mode="upsert", catalog=catalog)
    found = arctic.read("shop.t", catalog=catalog).read_all()
    assert pairs(found) == [(0, "Rome"), *((each, "Lima") for each in range(1, 5))]


def metadata_files(folder: Path) -> set[str]:
    """Return the metadata files below a folder."""
    return {str(path) for path in folder.rglob("*.metadata.json")}
