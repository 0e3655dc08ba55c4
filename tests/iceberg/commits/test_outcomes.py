"""What is concluded of a commit whose snapshot is not found: it was lost, or nobody knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from sqlalchemy.exc import OperationalError

import arctic
from arctic.errors import CommitStateUnknownError
from tests.iceberg.catalogs.over_http.rest_server import RestServer, rest_server

SCHEMA = pa.schema([("id", pa.int64())])
LOST = OperationalError("UPDATE", {}, Exception("server closed the connection"))
TWICE = CommitFailedException("409 after a repeated request")
AT_ONCE = {"snapshot.keep.duration": "0", "clean-orphan-file.enabled": "false"}
BATCH = {"stream-query-id": "q", "stream-batch-id": "1"}


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[tuple[RestServer, dict[str, Any], arctic.Table]]:
    """A server that may be asked twice, how its tables are reached, and ``db.t`` with a row."""
    with rest_server(tmp_path) as server:
        place: dict[str, Any] = {"catalog": server.properties}
        yield server, place, make(place)


def rows(*ids: int) -> pa.Table:
    """Return rows to write."""
    return pa.table({"id": ids}, SCHEMA)


def read(name: str, place: dict[str, Any]) -> list[object]:
    """Read a table, by id."""
    return sorted(arctic.read(name, **place).read_all()["id"].to_pylist())


def make(place: dict[str, Any]) -> arctic.Table:
    """Make ``db.t`` with a row."""
    table = arctic.create_table("db.t", SCHEMA, primary_key=[], **place)
    table.write(rows(0), mode="append")
    return table


def answer_first(
    monkeypatch: pytest.MonkeyPatch, error: Exception, meanwhile: Callable[[], None], *, lands: bool
) -> None:
    """Let the next commit be answered so, after others have done something."""
    real, answered = Table._do_commit, list[bool]()

    def commit(table: Table, **arguments: Any) -> None:
        is_first = not answered
        answered.append(True)
        if lands or not is_first:
            real(table, **arguments)
        if is_first:
            meanwhile()
            raise error

    monkeypatch.setattr(Table, "_do_commit", commit)


def goes_on(place: dict[str, Any]) -> None:
    """Commit, and let every older snapshot expire."""
    arctic.write("db.t", rows(2), mode="append", **place)
    arctic.expire("db.t", options=AT_ONCE, **place)


@pytest.mark.parametrize("options", [{}, BATCH], ids=["a write", "a batch of a stream"])
def test_a_snapshot_that_expired_before_the_look_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> None:
    """Its files are live: they are neither deleted nor committed once more."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    table = make(place)
    answer_first(monkeypatch, LOST, lambda: goes_on(place), lands=True)

    with pytest.raises(CommitStateUnknownError, match="server closed the connection"):
        table.write(rows(1), mode="append", options=options)

    assert read("db.t", place) == [0, 1, 2]
    if options:
        assert table.write(rows(1), mode="append", options=options) is not None
        assert read("db.t", place) == [0, 1, 2]


@pytest.mark.parametrize("lands", [True, False])
def test_a_refusal_by_a_catalog_that_may_be_asked_twice_is_not_enough(
    behind: tuple[RestServer, dict[str, Any], arctic.Table],
    monkeypatch: pytest.MonkeyPatch,
    lands: bool,
) -> None:
    """The snapshot may have landed, and expired since; no file goes."""
    _, place, table = behind

    def others() -> None:
        arctic.write("db.t", rows(3), mode="append", **place)
        goes_on(place)

    answer_first(monkeypatch, TWICE, others, lands=lands)
    with pytest.raises(CommitStateUnknownError, match="409 after a repeated request"):
        table.write(rows(1), mode="append")

    assert read("db.t", place) == ([0, 1, 2, 3] if lands else [0, 2, 3])


def test_who_has_the_number_of_an_attempt_was_faster(
    behind: tuple[RestServer, dict[str, Any], arctic.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little else is left: no other snapshot has the same number."""
    _, place, table = behind
    answer_first(monkeypatch, TWICE, lambda: goes_on(place), lands=False)

    table.write(rows(1), mode="append")

    assert read("db.t", place) == [0, 1, 2]


def test_a_database_that_refuses_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who won may be all that is left: the attempt is built anew."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    table = make(place)
    answer_first(monkeypatch, TWICE, lambda: goes_on(place), lands=False)

    table.write(rows(1), mode="append")

    assert read("db.t", place) == [0, 1, 2]


def test_a_lost_race_is_run_again_where_it_can_be_seen(
    behind: tuple[RestServer, dict[str, Any], arctic.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind HTTP too: the snapshot of who won lies where this one would."""
    _, place, table = behind

    def others() -> None:
        arctic.write("db.t", rows(2), mode="append", **place)

    answer_first(monkeypatch, TWICE, others, lands=False)
    table.write(rows(1), mode="append")

    assert read("db.t", place) == [0, 1, 2]


def test_a_refusal_before_a_rename_leaves_the_outcome_open(
    behind: tuple[RestServer, dict[str, Any], arctic.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that was repeated had landed, and nobody looks under the new name."""
    server, place, table = behind

    def others() -> None:
        server.catalog.rename_table("db.t", "db.w")
        arctic.create_table("db.t", SCHEMA, primary_key=[], **place)

    answer_first(monkeypatch, TWICE, others, lands=True)
    with pytest.raises(CommitStateUnknownError, match="409 after a repeated request"):
        table.write(rows(1), mode="append")

    assert read("db.w", place) == [0, 1]
    assert read("db.t", place) == []
