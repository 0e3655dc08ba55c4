"""Tables with a merge engine: what they can be, what they refuse, what others know of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.change_messages import apply_changes
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.mor.deletes.delete_index import DeleteRows
from arctic.mor.folding import folded_inserts
from arctic.mor.key_parts import KeyPart
from arctic.mor.request import ReadRequest
from arctic.table.property_names import REQUIRES

NAME = "db.t"
SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), ("n", pa.int64()), ("note", pa.string())]
)


def rows(*given: tuple[int, int | None, str | None]) -> pa.Table:
    """Return rows of the three columns."""
    return pa.Table.from_pylist(
        [{"id": key, "n": n, "note": note} for key, n, note in given], schema=SCHEMA
    )


@pytest.fixture
def first(tmp_path: Path) -> arctic.Table:
    """Make a table whose first rows stay."""
    return arctic.create_table(
        NAME,
        SCHEMA,
        primary_key="id",
        properties={"write.merge-engine": "first-row"},
        warehouse=str(tmp_path),
    )


def notes(table: arctic.Table, **asked: Any) -> dict[int, str]:
    """Return the note of each key."""
    found = table.read(**asked).read_all().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row["note"] for row in found}


def test_the_first_by_the_order_of_a_write(first: arctic.Table) -> None:
    """Of one write the least by its ordering column comes first."""
    first.write(rows((1, 5, "b"), (1, 3, "a"), (1, 9, "c")), options={"ordering-column": "n"})
    first.write(rows((1, 1, "late")), options={"ordering-column": "n"})
    assert notes(first) == {1: "a"}


def test_first_rows_are_overwritten_and_restored(first: arctic.Table) -> None:
    """Both begin anew: what comes afterwards is held against the rows that are there then."""
    first.write(rows((1, 0, "a"), (2, 0, "b")))
    version = first.refresh().versions().num_rows
    first.write(rows((3, 0, "c")), mode="overwrite")
    first.write(rows((1, 0, "d"), (3, 0, "e")))
    assert notes(first) == {1: "d", 3: "c"}
    first.optimize(type="minor")
    first.restore(version)
    first.write(rows((1, 0, "f"), (3, 0, "g")))
    assert notes(first) == {1: "a", 2: "b", 3: "g"}


def _messages(table: arctic.Table) -> None:
    message = '{"op": "c", "after": {"id": 1, "n": 1}, "source": {"db": "d", "table": "t"}}'
    apply_changes(
        [message],
        envelope="debezium",
        tables={"d.t": NAME},
        quarantine="db.q",
        writer="s",
        batch_id=1,
        warehouse=table._options["warehouse"],
    )


def _removal(table: arctic.Table) -> None:
    removal = rows((1, 1, "a")).append_column("op", pa.array(["D"]))
    table.write(removal, mode="upsert", options={"action-column": "op"})


REFUSED: dict[str, Callable[[arctic.Table], Any]] = {
    "append": lambda t: t.write(rows((1, 5, "a")), mode="append"),
    "delete of keys": lambda t: t.write(rows((1, 5, "a")).select(["id"]), mode="delete"),
    "removal": _removal,
    "kept values": lambda t: t.write(
        rows((1, 5, "a")).drop_columns(["note"]),
        mode="upsert",
        options={"missing-columns": "keep"},
    ),
    "inserts alone": lambda t: t.write(
        rows((1, 5, "a")), mode="upsert", options={"write.upsert.enabled": "false"}
    ),
    "every event": lambda t: t.write(rows((1, 5, "a")), options={"write.changes.keep-all": "true"}),
    "overwrite with one key twice": lambda t: t.write(
        rows((1, 5, "a"), (1, 6, "b")), mode="overwrite"
    ),
    "delete": lambda t: t.delete("id = 1"),
    "update": lambda t: t.update("id = 1", set={"n": "7"}),
    "merge": lambda t: t.merge(rows((1, 5, "a")), on="id").when_not_matched_insert_all().execute(),
    "expiry of rows": lambda t: t.expire(
        options={
            "data-expire.enabled": "true",
            "data-expire.field": "n",
            "data-expire.retention-time": "1d",
        }
    ),
    "messages": _messages,
    "another engine": lambda t: t.set_properties({"write.merge-engine": "last-row"}),
    "no engine": lambda t: t.unset_properties("write.merge-engine"),
}


@pytest.mark.parametrize("what", list(REFUSED))
def test_what_would_replace_or_remove_a_row_is_refused(first: arctic.Table, what: str) -> None:
    """With a clear error, and without a change of the table."""
    first.write(rows((1, 4, "x")))
    before = (first.refresh().versions().num_rows, notes(first))

    with pytest.raises((arctic.UnsupportedError, arctic.InvalidInputError), match=r"first|merge"):
        REFUSED[what](first)

    assert (first.refresh().versions().num_rows, notes(first)) == before


GROUPS = "write.merge-engine.sequence-groups"
FUNCTIONS = "write.merge-engine.aggregate-functions"


@pytest.mark.parametrize("engine", ["partial-update", "aggregate"])
def test_what_would_replace_a_folded_row_is_refused(tmp_path: Path, engine: str) -> None:
    """As with first rows; but keys are deleted, and commands set and remove rows."""
    table = arctic.create_table(
        NAME,
        SCHEMA,
        primary_key="id",
        properties={"write.merge-engine": engine},
        warehouse=str(tmp_path),
    )
    table.write(rows((1, 4, None)))
    table.write(pa.table({"id": [1], "note": ["x"]}))
    assert notes(table) == {1: "x"}
    before = table.refresh().versions().num_rows
    for what in set(REFUSED) - {"delete of keys", "delete", "update", "merge"}:
        with pytest.raises((arctic.UnsupportedError, arctic.InvalidInputError), match="merge"):
            REFUSED[what](table)
    assert (table.refresh().versions().num_rows, notes(table)) == (before, {1: "x"})
    version = before
    table.write(rows((1, 4, "x")).select(["id"]), mode="delete")
    table.write(rows((1, 5, None)))
    assert table.read().read_all().to_pylist() == [{"id": 1, "n": 5, "note": None}]
    table.restore(version)
    table.write(rows((1, None, "y")))
    assert table.read().read_all().to_pylist() == [{"id": 1, "n": 4, "note": "y"}]


@pytest.mark.parametrize("merged", [False, True])
def test_a_command_sets_what_later_rows_are_folded_with(tmp_path: Path, merged: bool) -> None:
    """Whatever the key had before; a key that changes takes what its row had along."""
    table = arctic.create_table(
        NAME,
        SCHEMA,
        primary_key="id",
        properties={"write.merge-engine": "aggregate", FUNCTIONS: "n: sum"},
        warehouse=str(tmp_path),
    )
    table.write(rows((1, 4, "a"), (2, 4, "b"), (3, 4, "c")))
    table.write(rows((1, 4, "a"), (2, 4, None), (3, 4, "c")))
    if merged:
        table.optimize(type="full")
    table.update("id = 1", set={"n": "n + 2"})
    table.update("id = 2", set={"id": "20"})
    table.delete("n = 8 and id = 3")
    table.write(rows((1, 1, None), (2, 1, None), (3, 1, None), (20, 1, None)))
    wanted = [(1, 11, "a"), (2, 1, None), (3, 1, None), (20, 9, "b")]
    for _ in range(2):
        found = table.read().read_all().sort_by("id").to_pylist()
        assert [tuple(row.values()) for row in found] == wanted
        table.optimize(type="minor")


def summed(folder: Path, *, buckets: int) -> arctic.Table:
    """Make a table that sums a column, of so many change nodes."""
    return arctic.create_table(
        NAME,
        SCHEMA,
        primary_key="id",
        properties={
            "write.merge-engine": "aggregate",
            FUNCTIONS: "n: sum",
            "change.file-index.hash-bucket": str(buckets),
        },
        warehouse=str(folder),
    )


def test_many_deletes_beside_few_inserts_are_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is bounded by what is read together, which deletes are a part of."""
    table = summed(tmp_path, buckets=1)
    table.write(pa.table({"id": pa.array(range(50_000), pa.int64())}), mode="delete")
    table.write(rows((1, 2, None), (1, 3, None)))
    asked: list[tuple[int, int]] = []
    read_part = folded_inserts._of_part

    def noted(rows: DeleteRows, part: KeyPart, request: ReadRequest) -> DeleteRows:
        asked.append((part.number, part.count))
        return read_part(rows, part, request)

    monkeypatch.setattr(folded_inserts, "_of_part", noted)
    found = table.read(options={"merge.max-delete-bytes": "200 KiB"}).read_all()
    assert found.select(["id", "n"]).to_pylist() == [{"id": 1, "n": 5}]
    assert {count for _, count in asked} != {1}


def test_a_key_whose_sum_does_not_fit_is_named_and_can_be_deleted(tmp_path: Path) -> None:
    """Until then it stops the read of all rows, and the optimizing of the table."""
    table = summed(tmp_path, buckets=1)
    table.write(rows((1, 2**62, None), (2, 1, None)))
    table.write(rows((1, 2**62, None), (2, 1, None)))
    for call in (lambda: table.read().read_all(), lambda: table.optimize(type="minor")):
        with pytest.raises(arctic.InvalidInputError, match=r"'n': the sum .* of key \{'id': 1\}"):
            call()

    table.write(pa.table({"id": [1]}), mode="delete")
    table.write(rows((1, 5, None)))
    table.optimize(type="minor")

    found = table.refresh().read().read_all().sort_by("id").select(["id", "n"])
    assert found.to_pylist() == [{"id": 1, "n": 5}, {"id": 2, "n": 2}]


@pytest.mark.parametrize("engine", ["partial-update", "aggregate"])
def test_key_columns_of_any_name_are_read_in_parts(tmp_path: Path, engine: str) -> None:
    """No column is added to them, whose name one could have."""
    table = arctic.create_table(
        NAME,
        pa.schema([("_row", pa.int64()), ("n", pa.int64())]),
        primary_key="_row",
        properties={"write.merge-engine": engine, "merge.max-delete-bytes": "1000"},
        warehouse=str(tmp_path),
    )
    data = pa.table({"_row": pa.array(range(400), pa.int64()), "n": pa.array(range(400))})
    table.write(data.slice(0, 400))
    table.write(data.slice(100, 200))
    assert table.read().read_all().sort_by("_row").equals(data.cast(table.schema))
    table.optimize(type="minor")
    assert table.refresh().read().read_all().sort_by("_row").equals(data.cast(table.schema))


def test_rows_of_files_in_nodes_of_any_depth_are_folded(tmp_path: Path) -> None:
    """Few changes go to higher nodes than many; each key is one row all the same."""
    table = summed(tmp_path, buckets=8)
    many = pa.table({"id": range(20_000), "n": [1] * 20_000})
    for _ in range(2):
        table.write(many)
        table.write(many.slice(0, 3))
    asked = {"parallelism": "7", "read.split.target-size": "1"}
    for _ in range(2):
        found = table.read(options=asked).read_all()
        assert (found.num_rows, sum(found["n"].to_pylist())) == (20_000, 40_006)
        table.optimize(type="minor")


@pytest.mark.parametrize(
    ("properties", "match"),
    [
        ({"write.merge-engine": "aggregate", FUNCTIONS: "note: sum"}, "sum takes"),
        ({"write.merge-engine": "aggregate", FUNCTIONS: "n: mean"}, "expected one of"),
        ({"write.merge-engine": "aggregate", FUNCTIONS: "id: max"}, "of the key"),
        ({"write.merge-engine": "aggregate", FUNCTIONS: "m: max"}, "no column"),
        ({"write.merge-engine": "aggregate", FUNCTIONS: "n"}, "expected"),
        ({"write.merge-engine": "partial-update", FUNCTIONS: "n: max"}, "without"),
        ({"write.merge-engine": "partial-update", GROUPS: "note: n"}, "expected one of"),
        ({"write.merge-engine": "partial-update", GROUPS: "n: note, n"}, "twice"),
        ({GROUPS: "n: note"}, "without"),
    ],
)
def test_rules_that_no_engine_could_go_by_are_refused(
    tmp_path: Path, properties: dict[str, str], match: str
) -> None:
    """Before anything is made."""
    with pytest.raises(arctic.InvalidInputError, match=match):
        arctic.create_table(
            NAME, SCHEMA, primary_key="id", properties=properties, warehouse=str(tmp_path)
        )


def test_a_column_that_rules_name_stays_as_it_is(tmp_path: Path) -> None:
    """Neither renamed nor dropped, and the rules last."""
    table = arctic.create_table(
        NAME,
        SCHEMA,
        primary_key="id",
        properties={"write.merge-engine": "aggregate", FUNCTIONS: "n: sum"},
        warehouse=str(tmp_path),
    )
    for change in ({"rename": {"n": "m"}}, {"drop": ["n"]}):
        with pytest.raises(arctic.InvalidInputError, match="aggregate-functions"):
            table.evolve_schema(**change)
    with pytest.raises(arctic.InvalidInputError, match="same functions"):
        table.set_properties({FUNCTIONS: "n: max"})


@pytest.mark.parametrize(
    "wanted",
    [
        {"primary_key": ()},
        {"ordering_columns": "n"},
        {"partition_by": ["n"]},
        {"properties": {"write.merge-engine": "best-row"}},
    ],
    ids=["no key", "ordering columns", "moving keys", "unknown"],
)
def test_a_table_cannot_have_an_engine_that_could_not_merge(
    tmp_path: Path, wanted: dict[str, Any]
) -> None:
    """It is refused before anything is made."""
    given = {"primary_key": "id", "properties": {"write.merge-engine": "first-row"}, **wanted}
    with pytest.raises(arctic.ArcticError, match="merge-engine"):
        arctic.create_table(NAME, SCHEMA, warehouse=str(tmp_path), **given)


def test_a_reader_refuses_what_it_does_not_know(first: arctic.Table, tmp_path: Path) -> None:
    """The table says what must be known; a word of tomorrow is refused by this version."""
    catalog = open_catalog(CatalogConfig.from_options({"warehouse": str(tmp_path)}))
    base = catalog.load_table(("db", "t"))
    assert base.properties[REQUIRES] == "merge-engine"
    with base.transaction() as change:
        change.set_properties({REQUIRES: "merge-engine,something-new"})
    with pytest.raises(arctic.UnsupportedError, match="something-new"):
        arctic.open_table(NAME, warehouse=str(tmp_path))


def test_a_released_table_has_no_engine(first: arctic.Table, tmp_path: Path) -> None:
    """It is a plain Iceberg table with the merged rows."""
    first.write(rows((1, 0, "a")))
    first.write(rows((1, 0, "b")))
    first.optimize(type="full")
    arctic.release(NAME, warehouse=str(tmp_path))
    catalog = open_catalog(CatalogConfig.from_options({"warehouse": str(tmp_path)}))
    base = catalog.load_table(("db", "t"))
    assert not {"write.merge-engine", REQUIRES} & set(base.properties)
    assert base.scan().to_arrow()["note"].to_pylist() == ["a"]
