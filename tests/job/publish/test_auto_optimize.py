"""Optimizing after a write: what it is given, and that it cannot spoil the write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import ConflictError, InvalidInputError
from arctic.job.publish import after_write
from arctic.job.tasks.run_tasks import LocalRunner
from arctic.job.upkeep.asked_upkeep import AskedOptimize

ROWS = pa.table({"id": [1, 2], "name": ["a", "b"]})


class Optimizer:
    """Stands where tables are optimized."""

    def __init__(self, error: Exception | None = None) -> None:
        self.calls: list[tuple[AskedOptimize, dict[str, Any]]] = []
        self._error = error

    def __call__(self, asked: AskedOptimize, **arguments: Any) -> None:
        """Remember the call."""
        self.calls.append((asked, arguments))
        if self._error is not None:
            raise self._error


def _install(monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> Optimizer:
    optimizer = Optimizer(error)
    monkeypatch.setattr(after_write, "optimize_table", optimizer)
    return optimizer


def _write(warehouse: Path, **options: str) -> arctic.WriteReport:
    return arctic.write(
        "db.t",
        ROWS,
        mode="upsert",
        options={"primaryKey": "id", **options},
        warehouse=str(warehouse),
    )


def test_the_table_of_the_write_is_optimized_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what says where it is, and none of the options that say how to write."""
    optimizer = _install(monkeypatch)

    _write(tmp_path, optimize="auto", **{"ordering-column": "id"})
    ((asked, arguments),) = optimizer.calls

    assert asked.reference.options == {"path": "db.t", "warehouse": str(tmp_path)}
    assert asked.given == {}
    assert (arguments["type"], arguments["where"]) == (None, None)
    assert isinstance(arguments["runner"], LocalRunner)


@pytest.mark.parametrize("options", [{}, {"optimize": "none"}])
def test_a_write_that_does_not_ask_for_it_leaves_the_table_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> None:
    """That is the default."""
    optimizer = _install(monkeypatch)

    _write(tmp_path, **options)

    assert optimizer.calls == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConflictError("file 'a' is gone\nand more"), "ConflictError: file 'a' is gone; run"),
        (ZeroDivisionError(), "ZeroDivisionError: no message; run"),
    ],
)
def test_a_write_that_is_committed_does_not_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    """The warning says so, and what to do; whatever the reason, the rows are there."""
    _install(monkeypatch, error)

    with pytest.warns(RuntimeWarning) as caught:
        report = _write(tmp_path, optimize="auto")
    text = str(caught[0].message)

    assert report.rows == 2
    assert arctic.read("db.t", warehouse=str(tmp_path)).read_all().num_rows == 2
    assert text.startswith("table 'db.t': the write is committed")
    assert reason in text
    assert text.endswith("arctic.optimize('db.t')")


def test_a_write_that_fails_is_not_followed_by_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing new to optimize."""
    optimizer = _install(monkeypatch)

    with pytest.raises(InvalidInputError):
        _write(tmp_path, optimize="auto", **{"ordering-column": "unknown"})

    assert optimizer.calls == []


def test_a_value_that_is_none_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """Not after the commit, where it would be too late."""
    with pytest.raises(InvalidInputError, match="expected one of none, auto"):
        _write(tmp_path, optimize="always")

    assert list(tmp_path.iterdir()) == []
