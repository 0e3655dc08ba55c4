"""How far event time has come, as a table and its snapshots say."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.commit_write import commit_write
from arctic.job.write.write_job import begin_write
from arctic.job.write.write_task import write_task

HOUR_MS = 3_600_000
_MOMENT = pa.timestamp("us")
SCHEMA = pa.schema([("id", pa.int64()), ("region", pa.string()), ("at", _MOMENT)])


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """Return the folder of an embedded catalog."""
    return str(tmp_path)


def create(
    warehouse: str,
    *,
    keyed: bool = True,
    partition_by: tuple[str, ...] = (),
    at: pa.DataType = _MOMENT,
    number_format: str = "TIMESTAMP_MS",
    **properties: str,
) -> arctic.Table:
    """Make the table w.t with event times."""
    given = {
        "table.event-time-field": "at",
        "table.event-time-field.datetime-number-format": number_format,
    }
    given |= {f"table.{name.replace('_', '-')}": value for name, value in properties.items()}
    return arctic.create_table(
        "w.t",
        SCHEMA.set(2, pa.field("at", at)),
        primary_key=["id", "region"] if keyed else [],
        partition_by=partition_by,
        properties=given,
        warehouse=warehouse,
    )


def moment(hours: float) -> dt.datetime:
    """Return a time so many hours after 1970 began."""
    return dt.datetime(1970, 1, 1) + dt.timedelta(hours=hours)  # noqa: DTZ001 - the column has none


def put(warehouse: str, *rows: tuple[int, str, float | None], mode: str = "append") -> None:
    """Write rows whose times are given in hours."""
    times = [None if hours is None else moment(hours) for _, _, hours in rows]
    columns = [[row[0] for row in rows], [row[1] for row in rows], times]
    arctic.write("w.t", pa.table(columns, schema=SCHEMA), mode=mode, warehouse=warehouse)


def shown(warehouse: str) -> dict[str, int]:
    """Return the watermarks of the table, in hours."""
    properties = arctic.open_table("w.t", warehouse=warehouse).properties
    return {
        name.removeprefix("watermark."): int(text) // HOUR_MS
        for name, text in properties.items()
        if name.startswith("watermark.")
    }


def told(warehouse: str, key: str = "watermark.table") -> list[tuple[str, int]]:
    """Return store and watermark of every snapshot, as the metadata table shows them."""
    rows: list[dict[str, Any]] = arctic.read("w.t.snapshots", warehouse=warehouse).read_all(
    ).to_pylist()  # fmt: skip
    rows.sort(key=lambda row: row["committed_at"])
    summaries = [(row["store"], dict(row["summary"])) for row in rows]
    return [(store, int(each[key]) // HOUR_MS) for store, each in summaries if key in each]


def test_each_commit_says_how_far_event_time_has_come(warehouse: str) -> None:
    """Rows that are late, or have no time, do not turn it back."""
    create(warehouse)
    put(warehouse, (1, "eu", 5), (2, "eu", 3))
    put(warehouse, (3, "eu", 4))
    put(warehouse, (4, "eu", None))
    put(warehouse, (1, "eu", 9), mode="upsert")

    assert told(warehouse) == [("change", 5), ("change", 5), ("change", 5), ("change", 9)]
    assert shown(warehouse) == {"table": 9}


def test_lateness_holds_it_back(warehouse: str) -> None:
    """By whole seconds."""
    create(warehouse, watermark_allowed_lateness_second="7200")
    put(warehouse, (1, "eu", 5))

    assert shown(warehouse) == {"table": 3}


@pytest.mark.parametrize("mode", ["append", "upsert", "overwrite"])
@pytest.mark.parametrize("key_decides", [True, False])
def test_a_write_at_work_keeps_its_event_time(warehouse: str, mode: str, key_decides: bool) -> None:
    """Its column may get another name before the commit: the files have the old one."""
    table = create(warehouse, partition_by=() if key_decides else ("at",))
    options = {"path": "w.t", "warehouse": warehouse, "write-mode": mode}
    job = begin_write(AskedWrite.of(options), SCHEMA)
    rows = pa.table([[1], ["eu"], [moment(5)]], schema=SCHEMA)
    result = write_task(job.work, rows.to_batches(), partition_id=0, task_id=0)
    table.evolve_schema(rename={"at": "since"})

    commit_write(job, [result])

    assert shown(warehouse)["table"] == 5


def test_an_unkeyed_table_has_one_watermark(warehouse: str) -> None:
    """Its rows are in the base store at once."""
    create(warehouse, keyed=False)
    put(warehouse, (1, "eu", 5))
    arctic.optimize("w.t", type="full", warehouse=warehouse)

    assert told(warehouse) == [("base", 5), ("base", 5)]
    assert shown(warehouse) == {"table": 5, "base": 5}


def test_optimizing_carries_it_to_base(warehouse: str) -> None:
    """Then a reader of base alone may trust it."""
    create(warehouse)
    put(warehouse, (1, "eu", 5))
    arctic.optimize("w.t", type="minor", warehouse=warehouse)
    put(warehouse, (2, "eu", 8))
    assert shown(warehouse) == {"table": 8, "base": 5}
    arctic.optimize("w.t", type="full", warehouse=warehouse)

    assert shown(warehouse) == {"table": 8, "base": 8}
    assert told(warehouse, "watermark.base") == [("base", 5), ("base", 8)]


def test_base_waits_for_its_last_partition(warehouse: str) -> None:
    """What is merged in one partition says nothing of the others."""
    create(warehouse, partition_by=("region",))
    put(warehouse, (1, "eu", 1), (1, "us", 1))
    arctic.optimize("w.t", type="full", warehouse=warehouse)
    put(warehouse, (2, "eu", 2))
    put(warehouse, (3, "us", 3), (3, "eu", 3))
    arctic.optimize("w.t", type="full", where="region = 'us'", warehouse=warehouse)
    assert shown(warehouse) == {"table": 3, "base": 1}
    arctic.optimize("w.t", type="full", warehouse=warehouse)

    assert shown(warehouse) == {"table": 3, "base": 3}


def test_a_partition_that_is_not_due_holds_base_back(warehouse: str) -> None:
    """The run that merges only what is due tells how far base is complete."""
    table = create(warehouse, partition_by=("region",))
    put(warehouse, (1, "eu", 1), (1, "us", 1))
    table.optimize(type="full", options={"self-optimizing.min-plan-interval": "-1"})
    put(warehouse, (2, "us", 2))
    for hours in range(3, 17):
        put(warehouse, *((hours * 100 + key, "eu", hours) for key in range(20)))
    report = table.optimize(options={"self-optimizing.min-plan-interval": "-1"})

    assert [each.partition for each in report.partitions] == ["region=eu"]
    assert shown(warehouse) == {"table": 16, "base": 1}


def test_it_survives_the_expiry_of_everything(warehouse: str) -> None:
    """The last snapshots still say it."""
    create(warehouse)
    put(warehouse, (1, "eu", 5))
    arctic.optimize("w.t", type="full", warehouse=warehouse)
    now = {"snapshot.keep.duration": "0", "change.data.ttl.minutes": "0"}
    arctic.expire("w.t", options=now, warehouse=warehouse)

    assert {hours for _, hours in told(warehouse)} == {5}
    assert shown(warehouse) == {"table": 5, "base": 5}


def test_an_overwrite_tells_of_base(warehouse: str) -> None:
    """Its rows are there."""
    create(warehouse)
    put(warehouse, (1, "eu", 5), mode="overwrite")

    assert shown(warehouse) == {"table": 5, "base": 5}


@pytest.mark.parametrize(
    ("at", "number_format", "value"),
    [
        pytest.param(pa.int64(), "TIMESTAMP_MS", 5 * HOUR_MS, id="milliseconds"),
        pytest.param(pa.int64(), "TIMESTAMP_S", 5 * 3600, id="seconds"),
        pytest.param(pa.int32(), "TIMESTAMP_S", 5 * 3600, id="int seconds"),
        pytest.param(pa.string(), "TIMESTAMP_MS", "1970-01-01 05:00:00", id="text"),
        pytest.param(
            pa.timestamp("us", "UTC"),
            "TIMESTAMP_MS",
            dt.datetime(1970, 1, 1, 7, tzinfo=dt.timezone(dt.timedelta(hours=2))),
            id="with a time zone",
        ),
    ],
)
def test_every_kind_of_event_time(
    warehouse: str, at: pa.DataType, number_format: str, value: object
) -> None:
    """Milliseconds come out of each."""
    create(warehouse, at=at, number_format=number_format)
    row = pa.Table.from_pylist(
        [{"id": 1, "region": "eu", "at": value}], schema=SCHEMA.set(2, pa.field("at", at))
    )
    arctic.write("w.t", row, mode="append", warehouse=warehouse)

    assert shown(warehouse) == {"table": 5}


def test_the_moment_of_the_commit_can_be_the_event_time(warehouse: str) -> None:
    """For tables whose rows have none."""
    before = dt.datetime.now(dt.timezone.utc).timestamp() * 1000
    create(warehouse, event_time_field="_ingest_time")
    put(warehouse, (1, "eu", 5))
    after = dt.datetime.now(dt.timezone.utc).timestamp() * 1000
    properties = arctic.open_table("w.t", warehouse=warehouse).properties

    assert before - 1 <= int(properties["watermark.table"]) <= after + 1


def test_without_an_event_time_nothing_is_said(warehouse: str) -> None:
    """Somebody could take the moment of a commit for it."""
    arctic.create_table("w.t", SCHEMA, primary_key=["id"], warehouse=warehouse)
    put(warehouse, (1, "eu", 5))

    assert (told(warehouse), shown(warehouse)) == ([], {})


@pytest.mark.parametrize(
    ("column", "at", "message"),
    [("moment", pa.timestamp("us"), "names no column"), ("at", pa.date32(), "of type date")],
)
def test_an_event_time_that_tells_nothing_is_refused(
    warehouse: str, column: str, at: pa.DataType, message: str
) -> None:
    """Somebody would wait for a watermark that never comes; another program may have set it."""
    table = create(warehouse, at=at, event_time_field="_ingest_time")
    config = CatalogConfig.from_options({"warehouse": warehouse})
    base = open_catalog(config).load_table("w.t")
    base.transaction().set_properties({"table.event-time-field": column}).commit_transaction()
    with pytest.raises(arctic.InvalidInputError, match=message):
        table.write(table.schema.empty_table(), mode="append")


def feed(warehouse: str, writer: str, hours: float | None, mode: str = "append") -> None:
    """Write one row as a writer that has a name."""
    at = None if hours is None else moment(hours)
    rows = pa.table([[1], ["eu"], [at]], schema=SCHEMA)
    options = {"writer-id": writer}
    arctic.write("w.t", rows, mode=mode, options=options, warehouse=warehouse)


def own(warehouse: str) -> dict[str, int]:
    """Return the watermark of each writer, in hours."""
    return {
        writer: ms // HOUR_MS
        for writer, ms in arctic.watermarks("w.t", warehouse=warehouse).items()
    }


@pytest.mark.parametrize("keyed", [True, False])
def test_a_table_waits_for_its_slowest_writer(warehouse: str, keyed: bool) -> None:
    """Each keeps its own, which never goes back; retiring one lets the others go on."""
    create(warehouse, keyed=keyed)
    feed(warehouse, "a", 13)
    assert shown(warehouse)["table"] == 13
    feed(warehouse, "b", 12)
    assert shown(warehouse)["table"] == 12
    feed(warehouse, "a", 15)
    feed(warehouse, "b", 11)
    assert own(warehouse) == {"a": 15, "b": 12}
    assert shown(warehouse)["table"] == 12

    assert arctic.retire_writer("w.t", "b", warehouse=warehouse) == {"a": 15 * HOUR_MS}

    assert shown(warehouse)["table"] == 15
    feed(warehouse, "b", 14)
    assert (own(warehouse), shown(warehouse)["table"]) == ({"a": 15, "b": 14}, 14)


def test_a_stream_is_a_writer_of_its_own(warehouse: str) -> None:
    """By its id; each of its batches is a commit."""
    create(warehouse)
    for query, hours in (("q1", 13), ("q2", 12)):
        rows = pa.table([[1], ["eu"], [moment(hours)]], schema=SCHEMA)
        batch = {"stream-query-id": query, "stream-batch-id": "1"}
        arctic.write("w.t", rows, mode="append", options=batch, warehouse=warehouse)

    assert own(warehouse) == {"q1": 13, "q2": 12}
    assert shown(warehouse) == {"table": 12}


def test_a_save_without_a_name_feeds_nothing_once_somebody_has_one(warehouse: str) -> None:
    """What it says stands until then, as in tables that were made before writers had names."""
    create(warehouse)
    put(warehouse, (1, "eu", 20))
    assert shown(warehouse) == {"table": 20}
    feed(warehouse, "a", 13)
    put(warehouse, (2, "eu", 21))
    assert shown(warehouse) == {"table": 13}
    arctic.retire_writer("w.t", "a", warehouse=warehouse)
    assert shown(warehouse) == {"table": 13}
    put(warehouse, (2, "eu", 21))

    assert shown(warehouse) == {"table": 21}


def test_optimizing_carries_the_least_to_base(warehouse: str) -> None:
    """Also where it is less than what base showed before the slower one joined."""
    create(warehouse)
    feed(warehouse, "a", 13)
    arctic.optimize("w.t", type="full", warehouse=warehouse)
    feed(warehouse, "b", 12, mode="upsert")
    assert shown(warehouse) == {"table": 12, "base": 13}
    arctic.optimize("w.t", type="full", warehouse=warehouse)
    now = {"snapshot.keep.duration": "0", "change.data.ttl.minutes": "0"}
    arctic.expire("w.t", options=now, warehouse=warehouse)

    assert shown(warehouse) == {"table": 12, "base": 12}
    assert own(warehouse) == {"a": 13, "b": 12}
    feed(warehouse, "a", 14)
    arctic.retire_writer("w.t", "b", warehouse=warehouse)
    assert shown(warehouse) == {"table": 14, "base": 12}
    arctic.optimize("w.t", type="full", warehouse=warehouse)
    assert shown(warehouse) == {"table": 14, "base": 14}


def test_an_overwrite_waits_for_writers_of_changes(warehouse: str) -> None:
    """The stores are one table, whichever a writer commits to."""
    create(warehouse)
    feed(warehouse, "a", 10)
    feed(warehouse, "b", 12, mode="overwrite")

    assert shown(warehouse) == {"table": 10, "base": 10}
    assert own(warehouse) == {"a": 10, "b": 12}


def test_a_write_without_event_times_names_no_writer(warehouse: str) -> None:
    """Nobody would know how far it has come."""
    create(warehouse)
    feed(warehouse, "a", None)

    assert own(warehouse) == {}


def test_writers_must_be_known_to_be_retired(warehouse: str) -> None:
    """The message lists those that are."""
    create(warehouse)
    feed(warehouse, "a", 10)
    with pytest.raises(arctic.NotFoundError, match="there are those of a"):
        arctic.retire_writer("w.t", "b", warehouse=warehouse)
    with pytest.raises(arctic.InvalidInputError, match="expected up to 128 letters"):
        feed(warehouse, "no/name", 10)


def test_more_writers_than_can_be_remembered_are_refused(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every open reads them; somebody who takes a new name each time would add without end."""
    monkeypatch.setattr("arctic.table.streams.watermark.MAX_WRITERS", 2)
    create(warehouse)
    feed(warehouse, "a", 10)
    feed(warehouse, "b", 11)
    with pytest.raises(arctic.InvalidInputError, match="retire those that no longer write"):
        feed(warehouse, "c", 12)
    feed(warehouse, "b", 12)

    assert own(warehouse) == {"a": 10, "b": 12}


def say(warehouse: str, hours: float, *rows: tuple[int, str], writer: str | None = None) -> None:
    """Write rows, if any, and say how far event time has come."""
    columns = [[id for id, _ in rows], [region for _, region in rows], [None] * len(rows)]
    options = {"watermark": str(int(hours * HOUR_MS))}
    if writer is not None:
        options["writer-id"] = writer
    table = pa.table(columns, schema=SCHEMA)
    arctic.write("w.t", table, mode="append", options=options, warehouse=warehouse)


@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "without a key"])
def test_a_writer_says_how_far_it_is(warehouse: str, *, keyed: bool) -> None:
    """In place of what its rows tell; and in a table whose rows tell nothing."""
    key = ["id"] if keyed else []
    arctic.create_table("w.t", SCHEMA, primary_key=key, warehouse=warehouse)
    say(warehouse, 5, (1, "eu"), writer="a")
    put(warehouse, (2, "eu", 90))
    assert shown(warehouse)["table"] == 5

    say(warehouse, 7, writer="b")
    assert shown(warehouse)["table"] == 5
    say(warehouse, 6, writer="a")
    assert shown(warehouse)["table"] == 6
    say(warehouse, 4, (3, "eu"), writer="a")
    assert shown(warehouse)["table"] == 6
    assert arctic.watermarks("w.t", warehouse=warehouse) == {"a": 6 * HOUR_MS, "b": 7 * HOUR_MS}


def test_a_save_without_rows_moves_the_watermark_alone(warehouse: str) -> None:
    """No snapshot comes of it; the next merge carries it to base."""
    create(warehouse)
    put(warehouse, (1, "eu", 1))
    say(warehouse, 3)
    assert len(told(warehouse)) == 1
    assert shown(warehouse)["table"] == 3
    arctic.optimize("w.t", type="full", warehouse=warehouse)
    assert shown(warehouse) == {"table": 3, "base": 3}


def test_a_moment_that_is_none_is_refused(warehouse: str) -> None:
    """Before a row is written."""
    create(warehouse)
    with pytest.raises(arctic.InvalidInputError, match=r"option watermark = 'noon': expected"):
        arctic.write(
            "w.t",
            SCHEMA.empty_table(),
            mode="append",
            options={"watermark": "noon"},
            warehouse=warehouse,
        )
