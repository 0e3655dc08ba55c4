"""Windows of event time: each complete one once, and none too early."""

from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.job.complete import window_job
from arctic.table.streams.window import complete_windows

NOON = dt.datetime(2024, 2, 29, 12, tzinfo=dt.timezone.utc)
TIME = pa.timestamp("us", "UTC")
SCHEMA = pa.schema([("id", pa.int64()), ("at", TIME)])


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """Return the folder of an embedded catalog."""
    return str(tmp_path)


def create(warehouse: str, at: pa.DataType = TIME, **properties: str) -> None:
    """Make the table w.t, whose rows have an event time."""
    arctic.create_table(
        "w.t",
        SCHEMA.set(1, pa.field("at", at)),
        primary_key="id",
        properties={"table.event-time-field": "at", **properties},
        warehouse=warehouse,
    )


def put(
    warehouse: str, minutes: float, *, writer: str | None = None, id: int | None = None
) -> None:
    """Write a row so many minutes after noon."""
    at = NOON + dt.timedelta(minutes=minutes)
    rows = pa.table({"id": [int(minutes * 60) if id is None else id], "at": [at]}, schema=SCHEMA)
    options = {} if writer is None else {"writer-id": writer}
    arctic.write("w.t", rows, mode="upsert", options=options, warehouse=warehouse)


def given(warehouse: str, **asked: Any) -> list[arctic.Window]:
    """Return the windows of ten minutes that are given to the consumer 'report'."""
    asked = {"consumer": "report", "warehouse": warehouse, **asked}
    return list(arctic.windows("w.t", asked.pop("every", "10min"), **asked))


def begins(windows: list[arctic.Window]) -> list[int]:
    """Return when they begin, in minutes after noon."""
    return [int((window.begin - NOON).total_seconds() / 60) for window in windows]


def test_a_complete_window_is_given_once(warehouse: str) -> None:
    """The first is the last that is complete; later ones follow without a gap."""
    create(warehouse)
    assert given(warehouse) == []
    put(warehouse, 35)

    first = given(warehouse)
    assert begins(first) == [20]
    assert first[0].end - first[0].begin == dt.timedelta(minutes=10)
    assert given(warehouse) == []

    put(warehouse, 61)
    assert begins(given(warehouse)) == [30, 40, 50]
    assert given(warehouse) == []
    assert begins(given(warehouse, consumer="other", start=NOON)) == [0, 10, 20, 30, 40, 50]


def test_a_window_is_not_given_again_by_a_table_that_was_released(warehouse: str) -> None:
    """It goes on behind the last one once it is adopted."""
    create(warehouse)
    put(warehouse, 35)
    assert begins(given(warehouse)) == [20]
    arctic.optimize("w.t", type="full", warehouse=warehouse)
    arctic.release("w.t", warehouse=warehouse)
    arctic.adopt("w.t", primary_key="id", warehouse=warehouse)
    put(warehouse, 35, id=1)
    assert given(warehouse) == []

    put(warehouse, 61)
    assert begins(given(warehouse)) == [30, 40, 50]


def test_a_window_whose_work_failed_is_given_again(warehouse: str) -> None:
    """Done is what is followed by a call for the next."""
    create(warehouse)
    put(warehouse, 35)
    windows = arctic.windows("w.t", "10min", consumer="r", start=NOON, warehouse=warehouse)
    assert begins([next(windows), next(windows)]) == [0, 10]
    windows.close()  # type: ignore[attr-defined]

    assert begins(given(warehouse, consumer="r")) == [10, 20]


def test_no_window_is_given_before_the_slowest_writer_has_passed_it(warehouse: str) -> None:
    """Also not before one has written that is expected to."""
    create(warehouse)
    put(warehouse, 35, writer="eu")
    assert given(warehouse, start=NOON, writers=["eu", "us"]) == []

    put(warehouse, 14, writer="us")
    assert begins(given(warehouse, start=NOON, writers=["eu", "us"])) == [0]


@pytest.mark.parametrize(
    ("at", "properties"),
    [
        (pa.timestamp("us", "UTC"), {}),
        (pa.timestamp("us"), {}),
        (pa.int64(), {}),
        (pa.int64(), {"table.event-time-field.datetime-number-format": "TIMESTAMP_S"}),
        (pa.string(), {}),
    ],
    ids=["timestamptz", "timestamp", "milliseconds", "seconds", "text"],
)
def test_the_filter_of_a_window_has_its_rows(
    warehouse: str, at: pa.DataType, properties: dict[str, str]
) -> None:
    """Its first moment is in it, its last is not; a later write changes nothing of its version."""
    create(warehouse, at, **properties)
    noon = round(NOON.timestamp())
    seconds = pa.array([noon + 599, noon + 600, noon + 1199, noon + 1200])
    if pa.types.is_timestamp(at):
        times: pa.Array = seconds.cast(pa.timestamp("s", at.tz)).cast(at)
    elif at == pa.string():
        times = pa.array(
            [
                f"{dt.datetime.fromtimestamp(s.as_py(), dt.timezone.utc):%Y-%m-%d %H:%M:%S}"
                for s in seconds
            ]
        )
    else:
        times = seconds if properties else pa.compute.multiply(seconds, 1000)
    rows = pa.table({"id": [1, 2, 3, 4], "at": times})
    arctic.write("w.t", rows, mode="upsert", warehouse=warehouse)

    late = rows.slice(1, 1).set_column(0, "id", pa.array([9]))
    (window,) = given(warehouse, start="2024-02-29 12:10")
    arctic.write("w.t", late, mode="upsert", warehouse=warehouse)

    read = arctic.read(
        "w.t", filter=window.row_filter, version=str(window.version), warehouse=warehouse
    ).read_all()
    assert sorted(read["id"].to_pylist()) == [2, 3]


def test_two_who_work_under_one_name_do_not_both_finish(warehouse: str) -> None:
    """The second is told, and the window counts once."""
    create(warehouse)
    put(warehouse, 25)
    one, other = (
        arctic.windows("w.t", "10min", consumer="r", start=NOON, warehouse=warehouse)
        for _ in range(2)
    )
    assert begins([next(one), next(other)]) == [0, 0]
    assert begins([next(one)]) == [10]

    with pytest.raises(arctic.ConflictError, match="windows of 'r' in table"):
        next(other)


def test_a_window_that_another_finishes_while_it_is_chosen_is_told(
    warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is what the table said then, not what it says when the window is given."""
    create(warehouse)
    put(warehouse, 35)
    one, other = (
        arctic.windows("w.t", "10min", consumer="r", start=NOON, warehouse=warehouse)
        for _ in range(2)
    )
    assert begins([next(other)]) == [0]

    def slow(*asked: Any) -> Any:
        monkeypatch.setattr(window_job, "complete_windows", complete_windows)
        next(other)
        return complete_windows(*asked)

    monkeypatch.setattr(window_job, "complete_windows", slow)
    assert begins([next(one)]) == [0]
    with pytest.raises(arctic.ConflictError, match="windows of 'r' in table"):
        next(one)
    assert begins(list(other)) == [20]


def test_a_name_keeps_to_the_length_of_its_windows(warehouse: str) -> None:
    """Another one would leave rows out, or give them twice."""
    create(warehouse)
    put(warehouse, 25)
    given(warehouse)

    with pytest.raises(arctic.InvalidInputError, match="not of 3600000 ms"):
        given(warehouse, every="1h")
    with pytest.raises(arctic.InvalidInputError, match="duration"):
        given(warehouse, every="0min")


def test_optimizing_and_expiry_leave_the_place(warehouse: str) -> None:
    """It is a property of the table, not of a snapshot."""
    create(warehouse)
    put(warehouse, 25)
    given(warehouse)
    arctic.optimize("w.t", type="full", warehouse=warehouse)
    arctic.expire("w.t", options={"snapshot.keep.duration": "0s"}, warehouse=warehouse)
    put(warehouse, 31)

    assert begins(given(warehouse)) == [20]


class TestReady:
    """Whether a table is complete up to a moment."""

    def test_it_says_who_is_behind(self, warehouse: str) -> None:
        """Each writer with its own watermark; one that never wrote with none."""
        create(warehouse)
        put(warehouse, 25, writer="eu")
        put(warehouse, 5, writer="us")

        found = arctic.ready("w.t", "2024-02-29T12:10:00Z", writers="asia", warehouse=warehouse)

        assert not found
        assert found.behind == {"asia": None, "us": NOON + dt.timedelta(minutes=5)}
        assert found.watermark == NOON + dt.timedelta(minutes=5)
        put(warehouse, 10, writer="us")
        assert arctic.ready("w.t", NOON + dt.timedelta(minutes=10), warehouse=warehouse)

    def test_it_waits_for_a_writer(self, warehouse: str) -> None:
        """And comes back as soon as it is there."""
        create(warehouse)
        assert not arctic.ready("w.t", NOON, wait=0.2, poll=0.05, warehouse=warehouse)
        late = threading.Timer(0.5, put, (warehouse, 1))
        late.start()
        try:
            assert arctic.ready("w.t", NOON, wait=60, poll=0.05, warehouse=warehouse)
        finally:
            late.join()

    def test_a_time_of_day_is_of_today(self, warehouse: str) -> None:
        """In UTC, unless it says a zone."""
        create(warehouse)
        today = dt.datetime.now(dt.timezone.utc).date()

        found = arctic.ready("w.t", "00:10", warehouse=warehouse)

        assert (found.until.date(), found.until.time()) in [
            (day, dt.time(0, 10)) for day in (today, today + dt.timedelta(days=1))
        ]

    @pytest.mark.parametrize("until", ["noon", "25:00", "2024-02-30 12:00"])
    def test_what_is_no_time_is_refused(self, warehouse: str, until: str) -> None:
        """With what would be one."""
        create(warehouse)

        with pytest.raises(arctic.InvalidInputError, match="expected one such as '12:10'"):
            arctic.ready("w.t", until, warehouse=warehouse)

    def test_a_table_without_event_time_is_never_complete(self, warehouse: str) -> None:
        """So it is refused, with the property that is missing."""
        arctic.create_table("w.t", SCHEMA, primary_key="id", warehouse=warehouse)

        with pytest.raises(arctic.InvalidInputError, match="has no event time"):
            arctic.ready("w.t", NOON, warehouse=warehouse)
        with pytest.raises(arctic.InvalidInputError, match="has no event time"):
            given(warehouse)
        with pytest.raises(arctic.InvalidInputError, match="0 or more"):
            arctic.ready("w.t", NOON, wait=-1, warehouse=warehouse)


def test_writers_say_how_far_a_table_without_an_event_time_is(warehouse: str) -> None:
    """Until one has, only who names a writer may wait for it."""
    arctic.create_table("w.t", SCHEMA, primary_key="id", warehouse=warehouse)
    with pytest.raises(arctic.InvalidInputError, match="option watermark"):
        arctic.ready("w.t", NOON, warehouse=warehouse)
    assert not arctic.ready("w.t", NOON, writers="feed", warehouse=warehouse)
    rows = pa.table({"id": [1], "at": [NOON]}, schema=SCHEMA)
    options = {"writer-id": "feed", "watermark": NOON.isoformat()}
    arctic.write("w.t", rows, options=options, warehouse=warehouse)
    assert arctic.ready("w.t", NOON, warehouse=warehouse)
    (window,) = given(warehouse)
    assert (window.end, window.row_filter) == (NOON, None)
