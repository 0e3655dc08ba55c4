"""Leases on a real table: one holder at a time, until it expires."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import NotFoundError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.commits.lease import (
    Lease,
    cleaned_ms,
    end_lease,
    extend_lease,
    has_died,
    lease_of,
    owner_name,
    take_lease,
)
from arctic.iceberg.tables.set_properties import commit_properties
from tests.iceberg.stores import config_of

MINE = Lease(owner="a", until_ms=1_000)
THEIRS = Lease(owner="b", until_ms=1_500)


@pytest.fixture
def config(tmp_path: Path) -> CatalogConfig:
    """A catalog with one table."""
    schema = pa.schema([("id", pa.int64())])
    arctic.create_table("db.t", schema, primary_key="id", warehouse=str(tmp_path))
    return config_of(tmp_path)


def _properties(config: CatalogConfig) -> dict[str, str]:
    return dict(arctic.open_table("db.t", warehouse=str(config.warehouse)).properties)


def test_a_lease_is_its_holders_until_it_expires(config: CatalogConfig) -> None:
    """The other is told whose it is; at its end it is the other's."""
    assert take_lease(config, "db.t", MINE, now_ms=0) == MINE
    assert take_lease(config, "db.t", THEIRS, now_ms=999) == MINE
    assert take_lease(config, "db.t", THEIRS, now_ms=1_000) == THEIRS
    assert lease_of(_properties(config)) == THEIRS


def test_a_lease_that_was_given_back_while_another_was_taking_it_is_that_ones(
    config: CatalogConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was faster was done as fast: nobody has it any more."""
    met: list[str] = []

    def beside_another(*given: Any, **named: Any) -> None:
        if met:
            return commit_properties(*given, **named)
        met.append("another")
        take_lease(config, "db.t", THEIRS, now_ms=0)
        try:
            return commit_properties(*given, **named)
        finally:
            end_lease(config, "db.t", THEIRS, now_ms=0, cleaned=False)

    monkeypatch.setattr("arctic.iceberg.commits.lease.commit_properties", beside_another)

    assert take_lease(config, "db.t", MINE, now_ms=0) == MINE
    assert lease_of(_properties(config)) == MINE


def test_only_a_lease_that_is_held_is_extended(config: CatalogConfig) -> None:
    """One that was given back stays so: the table would be nobody's for nothing."""
    longer = Lease(owner="a", until_ms=9_000)
    extend_lease(config, "db.t", longer, now_ms=0)
    assert lease_of(_properties(config)) is None

    take_lease(config, "db.t", MINE, now_ms=0)
    extend_lease(config, "db.t", longer, now_ms=0)
    assert lease_of(_properties(config)) == longer


def test_a_lease_that_another_has_taken_is_not_given_back(config: CatalogConfig) -> None:
    """Nor is a cleaning noted that the other may be doing just now."""
    take_lease(config, "db.t", MINE, now_ms=0)
    take_lease(config, "db.t", THEIRS, now_ms=1_200)

    end_lease(config, "db.t", MINE, now_ms=1_300, cleaned=True)

    assert lease_of(_properties(config)) == THEIRS
    assert cleaned_ms(_properties(config)) is None


def test_a_cleaning_is_noted_with_the_end_of_the_lease(config: CatalogConfig) -> None:
    """Whoever comes next goes by it."""
    take_lease(config, "db.t", MINE, now_ms=0)

    end_lease(config, "db.t", MINE, now_ms=700, cleaned=True)

    assert lease_of(_properties(config)) is None
    assert cleaned_ms(_properties(config)) == 700


def test_a_table_that_is_gone_has_no_lease(config: CatalogConfig) -> None:
    """It is named."""
    with pytest.raises(NotFoundError, match=r"db\.gone"):
        take_lease(config, "db.gone", MINE, now_ms=0)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system tells of no process")
def test_a_lease_of_a_process_that_has_died_is_nobodys(config: CatalogConfig) -> None:
    """As soon as it is dead, though another process may have its number by then."""
    process = subprocess.Popen(["sleep", "60"])
    owner = owner_name(process.pid)
    place, number, began = owner.rsplit("-", 4)[1:4]
    dead = Lease(owner=owner, until_ms=1_000)
    assert take_lease(config, "db.t", dead, now_ms=0) == dead
    try:
        assert take_lease(config, "db.t", THEIRS, now_ms=1) == dead
    finally:
        process.kill()
        process.wait()

    assert has_died(owner)
    assert has_died(f"host-{place}-{os.getpid()}-{began}-1")
    assert not has_died(owner_name(os.getpid()))
    assert not has_died(f"host-{'0' * len(place)}-{number}-{began}-1")
    assert take_lease(config, "db.t", THEIRS, now_ms=1) == THEIRS
