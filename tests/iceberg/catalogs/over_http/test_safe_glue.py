"""Renames in Glue whose answers are lost, and that others come between."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import NoSuchTableError, TableAlreadyExistsError

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.catalogs.over_http.safe_glue import SafeGlueCatalog

OLD, NEW = ("shop", "old"), ("shop", "new")


class _GoneError(Exception):
    """There is no such entry."""


class _ExistsError(Exception):
    """There is one already."""


class _RacedError(Exception):
    """The version is another one."""


class Glue:
    """What PyIceberg asks of AWS's client; one that asks again where an answer did not come."""

    exceptions = SimpleNamespace(
        EntityNotFoundException=_GoneError,
        AlreadyExistsException=_ExistsError,
        ConcurrentModificationException=_RacedError,
    )

    def __init__(self, metadata_location: str) -> None:
        self.tables: dict[tuple[str, str], dict[str, Any]] = {}
        self.loses_an_answer = False
        self.before_an_update: Callable[[], object] = lambda: None
        self._put(OLD, entry("old", metadata_location), version=0)

    def get_table(self, DatabaseName: str, Name: str) -> dict[str, Any]:
        """Return an entry."""
        if (DatabaseName, Name) not in self.tables:
            raise _GoneError(Name)
        return {"Table": deepcopy(self.tables[DatabaseName, Name])}

    def create_table(self, DatabaseName: str, TableInput: dict[str, Any]) -> None:
        """Make an entry."""
        names = DatabaseName, TableInput["Name"]
        if names in self.tables:
            raise _ExistsError(names)
        self._put(names, TableInput, version=0)
        if self.loses_an_answer:
            self.create_table(DatabaseName, TableInput)

    def update_table(
        self,
        DatabaseName: str,
        TableInput: dict[str, Any],
        VersionId: str,
        SkipArchive: bool,
    ) -> None:
        """Replace an entry of this version."""
        self.before_an_update()
        names = DatabaseName, TableInput["Name"]
        if names not in self.tables:
            raise _RacedError(names)
        if self.tables[names]["VersionId"] != VersionId:
            raise _RacedError(names)
        self._put(names, TableInput, version=int(VersionId) + 1)

    def delete_table(self, DatabaseName: str, Name: str) -> None:
        """Remove an entry."""
        if self.tables.pop((DatabaseName, Name), None) is None:
            raise _GoneError(Name)

    def _put(self, names: tuple[str, str], made: dict[str, Any], *, version: int) -> None:
        kept = {"DatabaseName": names[0], "VersionId": str(version)}
        self.tables[names] = {**deepcopy(made), **kept}


def entry(name: str, metadata_location: str) -> dict[str, Any]:
    """Return the entry of a table."""
    parameters = {"table_type": "ICEBERG", "metadata_location": metadata_location}
    return {"Name": name, "TableType": "EXTERNAL_TABLE", "Parameters": parameters}


@pytest.fixture
def glue(tmp_path: Path) -> Glue:
    """A table under its old name."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    arctic.create_table("db.t", pa.schema([("id", pa.int64())]), **place)
    known = open_catalog(CatalogConfig.from_options(place)).load_table("db.t")
    return Glue(known.metadata_location)


def rename(glue: Glue) -> None:
    """Rename the table."""
    SafeGlueCatalog("glue", client=glue).rename_table(".".join(OLD), ".".join(NEW))


def test_a_lost_answer_to_the_new_entry_leaves_one_name(glue: Glue) -> None:
    """The second call is told of the entry that the first one has made."""
    glue.loses_an_answer = True

    rename(glue)

    assert list(glue.tables) == [NEW]


def test_a_name_that_others_have_is_refused(glue: Glue) -> None:
    """Also one that an earlier rename has given, and both entries stay as they are."""
    before = deepcopy(glue.tables[OLD])
    rename(glue)
    glue.tables[OLD] = before
    there = deepcopy(glue.tables)

    with pytest.raises(TableAlreadyExistsError):
        rename(glue)

    assert glue.tables == there


def test_a_table_that_is_dropped_meanwhile_has_no_name_left(glue: Glue) -> None:
    """It goes between the call that ends its first entry and the look at what became of it."""
    glue.before_an_update = lambda: glue.tables.pop(OLD, None)

    with pytest.raises(NoSuchTableError):
        rename(glue)

    assert glue.tables == {}
