"""Iceberg's Java library reads base stores and published tables as they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import arctic
from tests.java.canonical import lines
from tests.java.cases import CASES, Case, make
from tests.java.plain_java import PlainIceberg

OUTPUTS = ("v2", "clean")


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for all tables."""
    return tmp_path_factory.mktemp("java")


@pytest.fixture(scope="module")
def catalog(warehouse: Path) -> Mapping[str, str]:
    """Return it as a catalog."""
    return {"warehouse": str(warehouse)}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_java_reads_the_same_rows(
    case: Case, warehouse: Path, catalog: Mapping[str, str], java: PlainIceberg, tmp_path: Path
) -> None:
    """Of the base store, and of the published table with deletes and without."""
    name = make(case, catalog)
    base = arctic.read(name, options={"store": "base"}, catalog=catalog).read_all()
    names = arctic.open_table(name, catalog=catalog).schema.names
    expected = {name: base.select(names)}
    for output in OUTPUTS if case.key else ():
        arctic.publish(name, into=f"{name}_{output}", output=output, catalog=catalog)
        expected[f"{name}_{output}"] = arctic.read(name, catalog=catalog).read_all()

    with java.opened(warehouse) as plain:
        for each, rows in expected.items():
            table = plain.loadTable(java.identifier(each))
            marks = table.currentSnapshot().summary().get("total-delete-files") != "0"
            # Small partitions may have no row that is marked in place.
            may_have_none = each.endswith("clean") or case.partition_by or case.id == "key_bool"
            assert marks or may_have_none
            java.rows.write(table, str(tmp_path / each))
            assert rows.num_rows
            assert (tmp_path / each).read_text().split("\n")[:-1] == lines(rows), each
