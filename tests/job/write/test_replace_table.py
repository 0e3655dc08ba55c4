"""A table takes the name of another, and never that of rows which nobody looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.errors import ConflictError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.catalogs.listing import list_tables
from arctic.job.write.replace_table import (
    find_replaced,
    is_aside,
    replace_table,
    staged_name,
    traces_of,
)

ROWS = pa.table({"id": [1, 2]})


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CatalogConfig:
    """Of an embedded catalog."""
    monkeypatch.setenv("ARCTIC_WAREHOUSE", str(tmp_path))
    return CatalogConfig.from_options({"warehouse": str(tmp_path)})


def _made(name: str, *, keyed: bool) -> None:
    arctic.create_table(name, ROWS.schema, primary_key=["id"] if keyed else [])
    arctic.write(name, ROWS)


def _anew() -> None:
    arctic.drop_table("m.t")
    _made("m.t", keyed=False)


@pytest.mark.parametrize("keyed", [False, True])
def test_a_table_that_changed_keeps_its_name(config: CatalogConfig, keyed: bool) -> None:
    """Whatever others did to its rows; files in the place of others are no change."""
    _made("m.t", keyed=keyed)
    arctic.optimize("m.t", type="full")
    staged = staged_name("m.t")
    _made(staged, keyed=False)
    changes: list[Callable[[], object]] = [
        lambda: arctic.write("m.t", pa.table({"id": [3]})),
        lambda: arctic.open_table("m.t").delete("id = 1"),
        lambda: arctic.write("m.t", ROWS, mode="overwrite"),
        _anew,
    ]
    for change in changes:
        found = find_replaced(config, "m.t")
        change()
        rows = arctic.read("m.t").read_all()
        with pytest.raises(ConflictError, match="run the statement again"):
            replace_table(config, staged, "m.t", found)
        assert arctic.read("m.t").read_all().equals(rows)
    with pytest.raises(ConflictError):
        replace_table(config, staged, "m.t", None)
    arctic.write("m.t", pa.table({"id": [5]}))
    found = find_replaced(config, "m.t")
    arctic.optimize("m.t", type="full")
    replace_table(config, staged, "m.t", found)
    assert arctic.read("m.t").read_all().equals(ROWS)
    assert list_tables(config, "m") == ("m.t",)
    assert find_replaced(config, "m.none") is None


def test_what_is_left_behind_is_known_by_its_name() -> None:
    """Of this table only."""
    names = ["m.t__staged_0123abcd", "m.t__replaced_89abcdef", "m.u__staged_0123abcd", "m.t"]
    assert traces_of(names, "m.t") == names[:2]
    assert not is_aside("t__staged_0123")
