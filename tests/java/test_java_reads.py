"""Iceberg's Java library reads base stores and published tables as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from tests.java.canonical import lines
from tests.java.cases import CASES, Case, make
from tests.java.plain_java import PlainIceberg
from tests.job.adopt.test_repair_job import TYPES, row
from tests.job.adopt.test_repair_job import Plain as Sink

OUTPUTS = ("v2", "v3", "clean")


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


@pytest.mark.slow
def test_java_finds_an_id_for_every_row_of_version_3(java: PlainIceberg, tmp_path: Path) -> None:
    """Over many publishes, between which it commits to the table itself."""
    schema = pa.schema([("id", pa.int64()), ("n", pa.int64())])
    place = str(tmp_path)
    table = arctic.create_table("db.t", schema, primary_key=["id"], warehouse=place)
    for number in range(6):
        ids = range(number * 7, number * 7 + 40)
        table.write(pa.table({"id": ids, "n": [number] * 40}, schema=schema), mode="upsert")
        if number == 3:
            table.optimize(type="full")
        arctic.publish("db.t", output="v3", warehouse=place)
        with java.opened(tmp_path) as plain:
            shown = plain.loadTable(java.identifier("db.t_fresh"))
            spans = sorted(_spans(shown.newScan().planFiles().iterator()))
            assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
            assert spans[-1][1] <= shown.operations().current().nextRowId()
            java.rows.write(shown, str(tmp_path / "rows"))
            shown.updateProperties().set("seen", str(number)).commit()
            shown.rewriteManifests().clusterBy(java.itself()).commit()
        expected = arctic.read("db.t", warehouse=place).read_all()
        assert (tmp_path / "rows").read_text().split("\n")[:-1] == lines(expected)


@pytest.mark.slow
def test_java_reads_a_table_before_and_after_its_repair(java: PlainIceberg, tmp_path: Path) -> None:
    """Manifests that name equality deletes, as live ones and as removed ones beside others."""
    sink = Sink(tmp_path)
    sink.commit([row(1), row(2), row(3)], [])
    sink.commit([row(2, n=2)], [("id", [row(2)]), ("id n", [row(3)])])

    def by_java() -> list[str]:
        with java.opened(tmp_path) as plain:
            java.rows.write(plain.loadTable(java.identifier("db.t")), str(tmp_path / "rows"))
        return (tmp_path / "rows").read_text().split("\n")[:-1]

    expected = lines(pa.Table.from_pylist(sink.alive, schema=pa.schema(TYPES)))
    assert by_java() == expected
    sink.repair()
    assert by_java() == expected
    sink.commit([row(4)], [("id", [row(1)])])
    expected = lines(pa.Table.from_pylist(sink.alive, schema=pa.schema(TYPES)))
    assert by_java() == expected
    sink.repair()
    assert by_java() == expected


def _spans(tasks: Any) -> Iterator[tuple[int, int]]:
    """Yield the ids of the rows of each file: the first, and the one after the last."""
    while tasks.hasNext():
        file = tasks.next().file()
        yield file.firstRowId(), file.firstRowId() + file.recordCount()
