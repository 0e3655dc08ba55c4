"""Iceberg's Java library writes into base stores, and Arctic takes it as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from tests.java.canonical import lines
from tests.java.cases import CASES, Case, make
from tests.java.plain_java import PlainIceberg

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("city", pa.string())])
_NOW = {"self-optimizing.min-plan-interval": "0"}
_IDS_OF_PARTITION = 30
_FAR_MS = 2**52
"""A time that all snapshots are before."""


class Shop:
    """A table ``db.t`` that both sides write to, and the rows that it must hold."""

    def __init__(self, java: PlainIceberg, plain: Any, folder: Path, by: list[str]) -> None:
        self.java, self.plain, self.folder = java, plain, folder
        self.table = arctic.create_table(
            "db.t",
            SCHEMA,
            primary_key=["id"],
            partition_by=by,
            properties={"self-optimizing.target-size": "4096"},
            warehouse=str(folder),
        )
        self.rows: dict[int, str] = {}
        self.upsert(range(90), ["Rome", "Oslo", "Lima"])
        self.optimize("full")

    def upsert(self, ids: Iterable[int], cities: list[str]) -> None:
        """Let Arctic write rows."""
        rows = {each: cities[each % len(cities)] for each in ids}
        data = pa.table({"id": list(rows), "city": list(rows.values())}, schema=SCHEMA)
        self.table.write(data, mode="upsert")
        self.rows.update(rows)

    def delete(self, ids: Iterable[int]) -> None:
        """Let Arctic delete rows."""
        self.table.write(pa.table({"id": pa.array(ids, pa.int64())}), mode="delete")
        for each in ids:
            self.rows.pop(each, None)

    def optimize(self, kind: str) -> None:
        """Let Arctic merge, and see that no row changes."""
        self.table.optimize(type=kind, options=_NOW)
        self.check()

    def check(self) -> None:
        """Compare Arctic's rows with those that are due."""
        found = self.table.read(columns=["id", "city"]).read_all()
        pairs = zip(found["id"].to_pylist(), found["city"].to_pylist(), strict=True)
        assert sorted(pairs) == sorted(self.rows.items())

    def go_on(self) -> None:
        """Write to what Java has left, merge it, and write again."""
        self.check()
        self.upsert([*range(30, 40), *range(1_005, 1_010)], ["Kyiv"])
        self.delete([40, 41, 1_001])
        self.check()
        self.optimize("minor")
        self.upsert(range(38, 43), ["Cork"])
        self.optimize("full")

    def base(self) -> Any:
        """Return the base store as Java has it now."""
        return self.plain.loadTable(self.java.identifier("db.t"))

    def in_base(self) -> dict[int, str]:
        """Return the rows of base as Java reads them."""
        path = self.folder / "rows.txt"
        self.java.rows.write(self.base(), str(path))
        lines = (line.split("\t") for line in path.read_text().splitlines())
        return {int(key): city.removeprefix("'") for key, city in lines}

    def data_files(self, base: Any, rows: Mapping[int, str]) -> list[Any]:
        """Let Java write rows; return its data files, each of one partition and city."""
        groups: dict[tuple[int, str], list[int]] = {}
        for key, city in rows.items():
            groups.setdefault((key // _IDS_OF_PARTITION, city), []).append(key)
        return [self.java.files.data(base, keys, city) for (_, city), keys in groups.items()]


@pytest.fixture(params=[[], [f"truncate({_IDS_OF_PARTITION}, id)"]], ids=["whole", "partitioned"])
def shop(java: PlainIceberg, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shop]:
    """Return a table whose base store has rows, and nothing else."""
    arctic.create_table("db.first", SCHEMA, primary_key=[], warehouse=str(tmp_path))
    with java.opened(tmp_path) as plain:
        yield Shop(java, plain, tmp_path, request.param)


def test_appended_rows_are_rows(shop: Shop) -> None:
    """They can be changed and deleted as any other, though they have no node and no number."""
    shop.upsert(range(5), ["Bern"])
    base = shop.base()
    rows = {1_000 + each: ["Graz", "Rome"][each % 2] for each in range(20)}
    append = base.newAppend()
    for file in shop.data_files(base, rows):
        append.appendFile(file)
    append.commit()
    shop.rows.update(rows)

    shop.go_on()


def test_position_deletes_take_rows_away(shop: Shop) -> None:
    """As many as there are data files, in one commit."""
    before = shop.in_base()
    base = shop.base()
    delta = base.newRowDelta()
    for file in shop.java.files.dataFiles(base):
        delta.addDeletes(shop.java.files.positions(base, file))
    delta.commit()
    gone = before.keys() - shop.in_base().keys()
    assert len(gone) >= 30
    for key in gone:
        del shop.rows[key]

    shop.go_on()


def test_an_overwrite_replaces_base_under_the_changes(shop: Shop) -> None:
    """Changes that are not merged yet stay on top."""
    shop.upsert(range(10, 15), ["Bern"])
    base = shop.base()
    rows = dict.fromkeys(range(20), "Graz")
    overwrite = base.newOverwrite().overwriteByRowFilter(shop.java.expressions.alwaysTrue())
    for file in shop.data_files(base, rows):
        overwrite.addFile(file)
    overwrite.commit()
    shop.rows = {**rows, **dict.fromkeys(range(10, 15), "Bern")}

    shop.go_on()


def test_files_and_manifests_are_rewritten_and_snapshots_expire(shop: Shop) -> None:
    """Also those by which Arctic knows what is merged."""
    shop.upsert(range(10, 15), ["Bern"])
    base = shop.base()
    rewrite = base.newRewrite()
    for file in shop.java.files.dataFiles(base):
        rewrite.deleteFile(file)
    for file in shop.data_files(base, shop.in_base()):
        rewrite.addFile(file)
    rewrite.commit()
    shop.check()

    shop.base().rewriteManifests().clusterBy(shop.java.itself()).commit()
    shop.check()
    shop.base().expireSnapshots().expireOlderThan(_FAR_MS).retainLast(1).commit()
    assert shop.base().history().size() == 1

    shop.go_on()


def test_a_row_filter_drops_whole_files(shop: Shop) -> None:
    """Where metadata alone tells that all of their rows match."""
    end = _IDS_OF_PARTITION if shop.table.partition_by else 1_000
    matches = shop.java.expressions.lessThan("id", end)
    shop.base().newDelete().deleteFromRowFilter(matches).commit()
    shop.rows = {key: city for key, city in shop.rows.items() if key >= end}

    shop.go_on()


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for tables of every kind."""
    return tmp_path_factory.mktemp("java")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_tables_of_every_kind_are_written_to(
    case: Case, warehouse: Path, java: PlainIceberg, tmp_path: Path
) -> None:
    """Rows are taken away by their places, and appended again; manifests are written anew."""
    catalog = {"warehouse": str(warehouse)}
    name = make(case, catalog)
    table = arctic.open_table(name, catalog=catalog)

    def rows(**options: str) -> list[str]:
        """Return those of Arctic."""
        found = arctic.read(name, options=options, catalog=catalog).read_all()
        return lines(found.select(table.schema.names))

    merged, whole = rows(), rows(store="base")
    with java.opened(warehouse) as plain:
        base = plain.loadTable(java.identifier(name))
        taken = java.files.takeAway(base)
        java.rows.write(base, str(tmp_path / "rows"))
        left = (tmp_path / "rows").read_text().split("\n")[:-1]
        assert len(left) == len(whole) - sum(map(len, taken.values())) < len(whole)
        assert rows(store="base") == left
        java.files.giveBack(base, taken)
        assert rows(store="base") == whole
        base.rewriteManifests().clusterBy(java.itself()).commit()

    assert rows(store="base") == whole
    assert rows() == merged
    table.optimize(type="full", options=_NOW)
    assert rows() == merged
    assert rows(store="base") == merged


def test_deletes_by_values_are_refused(shop: Shop) -> None:
    """While planning: their rows would be read as if they were there."""
    base = shop.base()
    (file, *_) = shop.java.files.dataFiles(base)
    delta = base.newRowDelta()
    delta.addDeletes(shop.java.files.equality(base, file, 7))
    delta.commit()

    with pytest.raises(arctic.UnsupportedError, match="equality"):
        shop.table.read()
