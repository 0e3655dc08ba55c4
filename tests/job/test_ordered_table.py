"""Tables with ordering columns: made, written, read by row numbers; and what they refuse."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.change_messages import apply_changes
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.tables.open_table import open_table
from arctic.job.changes.asked_changes import AskedChanges
from arctic.job.changes.change_job import Changes
from arctic.job.read.asked_read import AskedRead, ReadSettings
from arctic.job.read.plan_rows import merge_request
from arctic.job.read.scan_job import scan_opened
from arctic.job.reference import parse_reference
from arctic.job.vectors.vector_work import VectorWork, look_up
from arctic.scan.changes.change_limit import ChangeLimit
from arctic.scan.scan_input import SetApart
from arctic.table.files import FileKind
from arctic.table.property_names import REQUIRES

NAME = "db.t"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("at", pa.int64()),
        pa.field("day", pa.date32()),
        pa.field("note", pa.string()),
    ]
)


def rows(*given: tuple[int, int | None, str]) -> pa.Table:
    """Return rows of key, place in the order, and note."""
    return pa.Table.from_pylist(
        [{"id": key, "at": at, "day": None, "note": note} for key, at, note in given],
        schema=SCHEMA,
    )


def notes(table: arctic.Table, **asked: Any) -> dict[int, str]:
    """Return the note of each key."""
    found = table.read(**asked).read_all().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row["note"] for row in found}


@pytest.fixture
def table(tmp_path: Path) -> arctic.Table:
    """Make a table that is ordered by ``at``."""
    return arctic.create_table(
        NAME, SCHEMA, primary_key="id", ordering_columns="at", warehouse=str(tmp_path)
    )


def test_the_later_of_equal_values_wins(table: arctic.Table) -> None:
    """By the order of rows in a write, then by commits, merged or not."""
    table.write(rows((1, 5, "a"), (1, 5, "b"), (1, 4, "c")))
    assert notes(table) == {1: "b"}
    table.optimize(type="minor")
    table.write(rows((1, 5, "d")))
    assert notes(table) == {1: "d"}
    table.write(rows((1, 5, "e")))
    assert notes(table) == {1: "e"}


def test_a_table_says_that_its_readers_must_know_of_the_order(
    table: arctic.Table, tmp_path: Path
) -> None:
    """Beside a merge engine, if it has one; not once it is a plain table."""
    assert table.properties[REQUIRES] == "ordering-columns"
    arctic.release(NAME, warehouse=str(tmp_path))
    catalog = open_catalog(CatalogConfig.from_options({"warehouse": str(tmp_path)}))
    assert REQUIRES not in catalog.load_table(("db", "t")).properties


@pytest.mark.parametrize(
    ("kind", "rising"),
    [
        (pa.float64(), [-math.inf, -2.5, 0.0, 1e-300, 3.5, math.inf, math.nan]),
        (pa.float32(), [-1.5, -0.0, 0.5, math.nan]),
        (pa.decimal128(30, 2), ["-123456789012345678901.25", "-0.01", "0.01", "98765432109876.50"]),
    ],
    ids=str,
)
def test_numbers_of_every_type_are_compared(
    tmp_path: Path, kind: pa.DataType, rising: list[Any]
) -> None:
    """In one write, against rows that wait and against merged ones; NaN is the greatest."""
    schema = SCHEMA.set(1, pa.field("at", kind))
    table = arctic.create_table(
        NAME, schema, primary_key="id", ordering_columns="at", warehouse=str(tmp_path)
    )
    places = range(len(rising))

    def write(pairs: list[tuple[int, int]]) -> None:
        given = pa.table(
            {
                "id": [key for key, _ in pairs],
                "at": pa.array([rising[place] for _, place in pairs]).cast(kind),
                "day": pa.nulls(len(pairs), pa.date32()),
                "note": [str(place) for _, place in pairs],
            },
            schema=schema,
        )
        table.write(given)

    write([(key, max(key - shift, 0)) for key in places for shift in (1, 0, 2)])
    assert notes(table) == {key: str(key) for key in places}
    table.optimize(type="minor")
    write([(key, place) for key, place in zip(places, reversed(places), strict=True)])
    wanted = {key: str(max(key, len(rising) - 1 - key)) for key in places}
    assert notes(table) == wanted
    write([(key, 0) for key in places])
    table.optimize(type="full")
    assert notes(table) == wanted


def test_a_late_row_loses_against_one_that_a_filter_drops(table: arctic.Table) -> None:
    """Whichever column the filter tests, and whatever its bounds leave out."""
    table.write(rows((1, 5, "new"), (2, 5, "new")), mode="overwrite")
    table.write(rows((1, 3, "late"), (2, 7, "newer")))

    assert notes(table, filter="note = 'late'") == {}
    assert notes(table, filter="at < 4") == {}
    assert notes(table, filter="note <> 'new'") == {2: "newer"}
    assert notes(table, filter="id = 1") == {1: "new"}


def test_a_late_row_loses_against_merged_rows_in_every_node(tmp_path: Path) -> None:
    """Nodes of base and of changes need not be the same, and base may have several files."""
    for base, change in (("1", "4"), ("4", "1"), ("8", "2")):
        table = arctic.create_table(
            f"db.t{base}",
            SCHEMA,
            primary_key="id",
            properties={
                "write.ordering-columns": "at",
                "base.file-index.hash-bucket": base,
                "change.file-index.hash-bucket": change,
            },
            warehouse=str(tmp_path),
        )
        keys = range(50)
        table.write(rows(*((key, 5, "old") for key in keys)))
        table.optimize(type="full", options={"self-optimizing.target-size": "1"})
        table.write(rows(*((key, 4 + key % 3, "new") for key in keys)))

        wanted = {key: "new" if key % 3 else "old" for key in keys}
        assert notes(table) == wanted
        assert notes(table, options={"parallelism": "7", "read.split.target-size": "1"}) == wanted


def test_base_rows_are_read_by_row_numbers_and_inserts_are_merged(table: arctic.Table) -> None:
    """An insert dies by rows of base too, which no deletion vector of deletes would know."""
    table.write(rows(*((key, 5, "old") for key in range(100))), mode="overwrite")
    table.write(rows(*((key, 4 + key % 3, "new") for key in range(0, 100, 5))))
    options = {**table._options, "read.deletion-vector.min-rows": "1"}
    reference = parse_reference(options)
    opened = open_table(reference.config, reference.identifier)
    job = scan_opened(opened, AskedRead.of(options), set_apart=SetApart.CLEAN_AND_DIRTY)
    assert job.plan is not None

    settings = ReadSettings.of(options, opened.table.properties)
    request = merge_request(opened, settings, schema=opened.arrow_schema, row_filter=None)
    work = VectorWork(tasks=job.plan.dirty_tasks, request=request, io=opened.io)
    dead = sum(
        int(found.slice(0, file.record_count).sum())
        for file, found in zip(work.files, look_up(work), strict=True)
    )
    merged = job.table().to_pylist()

    assert {file.kind for file in work.files} == {FileKind.BASE}
    replaced = [key for key in range(0, 100, 5) if key % 3]
    assert dead == len(replaced)
    assert sorted(row["id"] for row in merged if row["note"] == "new") == replaced
    assert all(row["note"] == "new" for row in merged)


def test_deletes_hold_against_late_rows_until_they_expire(table: arctic.Table) -> None:
    """And for as long as a row waits that came while they held."""
    at_once = {"change.data.ttl.minutes": "0", "snapshot.keep.duration": "0"}
    table.write(rows((1, 5, "a")))
    table.write(rows((1, 6, "")).select(["id", "at"]), mode="delete")
    table.optimize(type="full")
    table.write(rows((1, 5, "late")))
    assert notes(table) == {}
    table.expire(options={"change.data.ttl.minutes": "60", "snapshot.keep.duration": "0"})
    assert notes(table) == {}
    table.optimize(type="minor")
    table.expire(options=at_once)

    assert notes(table) == {}
    table.write(rows((1, 5, "new")))
    assert notes(table) == {1: "new"}


@pytest.mark.parametrize("condition", ["note = 'a'", "upper(note) = 'A'", None])
def test_a_delete_by_a_condition_carries_the_values_of_its_rows(
    table: arctic.Table, condition: str | None
) -> None:
    """It holds against older rows, merged or not, and newer ones come."""
    table.write(rows((1, 5, "a"), (2, 7, "a")), mode="overwrite")
    table.write(rows((2, 6, "late"), (3, 5, "a")))

    assert table.delete(condition).rows_deleted == 3

    table.write(rows((1, 4, "late"), (2, 6, "late"), (3, 6, "new")))
    assert notes(table) == {3: "new"}
    table.optimize(type="minor")
    table.write(rows((1, 4, "late"), (2, 8, "new")))
    assert notes(table) == {2: "new", 3: "new"}


@pytest.mark.parametrize("level", ["partition", "file"])
def test_rows_expire_by_the_first_ordering_column(table: arctic.Table, level: str) -> None:
    """What comes back is too old itself; what waits to be merged does not come back."""
    now = time.time_ns() // 1_000_000
    table.write(rows((1, 500, "old"), (2, now, "new")))
    apart = {"self-optimizing.target-size": "1"}
    table.optimize(type="full", options=apart)
    table.write(rows((1, 400, "late")))
    options = {
        "data-expire.enabled": "true",
        "data-expire.field": "at",
        "data-expire.retention-time": "1d",
        "data-expire.level": level,
    }
    table.expire(options=options)
    assert notes(table) == {1: "old", 2: "new"}
    table.optimize(type="minor", options=apart)
    table.expire(options=options)
    assert notes(table) == ({2: "new"} if level == "file" else {1: "old", 2: "new"})


def test_a_stream_begins_with_the_rows_that_are_there_and_tells_events_as_they_came(
    table: arctic.Table,
) -> None:
    """Who replays them by the ordering columns has the table."""
    table.write(rows((1, 5, "new"), (2, 5, "new")))
    table.optimize(type="minor")
    table.write(rows((1, 4, "late"), (2, 6, "newer")))
    changes = Changes(AskedChanges.of(table._options))
    beginning = changes.beginning()
    table.write(rows((1, 3, "later")))

    end = changes.advance(beginning, limit=ChangeLimit())
    told = changes.plan(beginning, end, columns=None).table()
    found: dict[int, list[Any]] = {1: [], 2: []}
    for row in told.to_pylist():
        found[row["id"]].append((row["_change_action"], row["note"]))

    assert found == {
        1: [("+I", "new"), ("-D", None), ("+I", "later")],
        2: [("+I", "newer")],
    }
    copy = arctic.create_table(
        "db.copy",
        SCHEMA,
        primary_key="id",
        ordering_columns="at",
        warehouse=table._options["warehouse"],
    )
    copy.write(
        told.drop_columns(["_transaction_id", "_file_offset"]),
        mode="upsert",
        options={"action-column": "_change_action"},
    )
    assert notes(copy) == notes(table) == {1: "new", 2: "newer"}


def test_messages_are_events(table: arctic.Table) -> None:
    """In any order; one whose delete has no value goes to the quarantine."""

    def told(op: str, before: Any, after: Any) -> str:
        columns = ("id", "at", "day", "note")
        rows = [
            None if row is None else dict(zip(columns, (row[0], row[1], None, row[2]), strict=True))
            for row in (before, after)
        ]
        source = {"db": "d", "table": "t"}
        return json.dumps({"op": op, "before": rows[0], "after": rows[1], "source": source})

    def apply(batch: int, *messages: str) -> int:
        return apply_changes(
            list(messages),
            envelope="debezium",
            tables={"d.t": NAME},
            quarantine="db.q",
            writer="s",
            batch_id=batch,
            warehouse=table._options["warehouse"],
        ).quarantined

    gone = told("d", (3, 7, "c"), None)
    moved = told("u", (4, 1, "d"), (5, 2, "d"))
    made = [told("c", None, row) for row in ((1, 5, "a"), (2, 5, "b"), (4, 1, "d"))]
    assert apply(1, gone, told("u", (1, 5, "a"), (1, 6, "new")), *made, moved) == 0
    assert notes(table) == {1: "new", 2: "b", 5: "d"}
    late = told("u", (2, 3, "x"), (2, 4, "late"))
    assert apply(2, late, told("c", None, (3, 6, "late")), told("c", None, (4, 0, "late"))) == 0
    assert notes(table) == {1: "new", 2: "b", 5: "d"}
    assert apply(3, told("d", (2, None, None), None), told("c", None, (6, None, "?"))) == 2
    assert notes(table) == {1: "new", 2: "b", 5: "d"}


def test_ordering_columns_follow_a_rename_and_keep_their_column(table: arctic.Table) -> None:
    """Old files are compared with new ones by field ids."""
    table.write(rows((1, 5, "a")))
    table = table.evolve_schema(rename={"at": "moment"})
    table.write(rows((1, 3, "late")).rename_columns(["id", "moment", "day", "note"]))
    assert notes(table) == {1: "a"}
    assert table.properties["write.ordering-columns"] == "moment"
    with pytest.raises(arctic.InvalidInputError, match="cannot be dropped; the property stays"):
        table.evolve_schema(drop="moment")


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"primary_key": (), "ordering_columns": "at"}, arctic.InvalidInputError, "no primary key"),
        ({"ordering_columns": "note"}, arctic.InvalidInputError, "'note' is string"),
        ({"ordering_columns": "nothing"}, arctic.InvalidInputError, "no column 'nothing'"),
        ({"ordering_columns": ["at", "at"]}, arctic.InvalidInputError, "named twice"),
        (
            {"ordering_columns": "at", "partition_by": "day"},
            arctic.UnsupportedError,
            "does not decide the partition",
        ),
        (
            {"ordering_columns": "at", "properties": {"write.ordering-columns": "at"}},
            arctic.InvalidInputError,
            "give one of the two",
        ),
    ],
)
def test_what_no_table_can_have_is_refused(
    tmp_path: Path, given: dict[str, Any], error: type[Exception], words: str
) -> None:
    """Before anything is created."""
    asked: dict[str, Any] = {"primary_key": "id", **given}
    with pytest.raises(error, match=words):
        arctic.create_table(NAME, SCHEMA, warehouse=str(tmp_path), **asked)


def test_other_ordering_columns_are_refused(table: arctic.Table, tmp_path: Path) -> None:
    """The rows of files that are there were decided by the first."""
    for text in ("day", "at,day"):
        with pytest.raises(arctic.InvalidInputError, match="since the table was created"):
            table.set_properties({"Write.Ordering-Columns": text})
    with pytest.raises(arctic.InvalidInputError, match="since the table was created"):
        table.unset_properties("write.ordering-columns")
    table.set_properties({"write.ordering-columns": "at"})
    plain = arctic.create_table("db.plain", SCHEMA, primary_key="id", warehouse=str(tmp_path))
    with pytest.raises(arctic.InvalidInputError, match="is not set since the table was created"):
        plain.set_properties({"write.ordering-columns": "at"})
    with pytest.raises(arctic.AlreadyExistsError, match=r"ordering columns are \['at'\]"):
        arctic.create_table(
            NAME,
            SCHEMA,
            primary_key="id",
            ordering_columns="day",
            exist_ok=True,
            warehouse=str(tmp_path),
        )


def _old_row(table: arctic.Table) -> None:
    row = rows((1, 5, "a")).append_column("op", pa.array(["-U"]))
    table.write(row, mode="upsert", options={"action-column": "op"})


REFUSED: dict[str, Callable[[arctic.Table], Any]] = {
    "append": lambda t: t.write(rows((1, 5, "a")), mode="append"),
    "null": lambda t: t.write(rows((1, None, "a"))),
    "delete by key alone": lambda t: t.write(rows((1, 5, "a")).select(["id"]), mode="delete"),
    "another order": lambda t: t.write(
        rows((1, 5, "a")), mode="upsert", options={"ordering-column": "day"}
    ),
    "kept values": lambda t: t.write(
        rows((1, 5, "a")).drop_columns(["note"]),
        mode="upsert",
        options={"missing-columns": "keep"},
    ),
    "inserts alone": lambda t: t.write(
        rows((1, 5, "a")), mode="upsert", options={"write.upsert.enabled": "false"}
    ),
    "old row": _old_row,
    "overwrite": lambda t: t.write(rows((1, 5, "a")), mode="overwrite"),
    "update to smaller": lambda t: t.update("id = 1", set={"at": '"at" - 1'}),
    "update to null": lambda t: t.update("id = 1", set={"at": "NULL"}),
    "update of the key": lambda t: t.update("id = 1", set={"id": "7"}),
    "merge of the key": lambda t: (
        t.merge(rows((1, 5, "a")), on="id").when_matched_update(set={"id": "7"}).execute()
    ),
    "expiry by another column": lambda t: t.expire(
        options={
            "data-expire.enabled": "true",
            "data-expire.field": "day",
            "data-expire.retention-time": "1d",
        }
    ),
    "restore": lambda t: t.restore(1),
}


@pytest.mark.parametrize("what", list(REFUSED))
def test_what_goes_by_another_order_is_refused(table: arctic.Table, what: str) -> None:
    """With a clear error, and without a change of the table."""
    table.write(rows((1, 4, "x")))
    before = (table.refresh().versions().num_rows, notes(table))

    with pytest.raises((arctic.UnsupportedError, arctic.InvalidInputError), match="order"):
        REFUSED[what](table)

    assert (table.refresh().versions().num_rows, notes(table)) == before
