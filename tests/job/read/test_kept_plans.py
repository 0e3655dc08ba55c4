"""Plans that are kept: each is what planning anew gives, and is of no other question."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arctic.iceberg.filters.parse_filter import parse_filter
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.drop_table import drop_table
from arctic.iceberg.tables.evolve_schema import SchemaChange, evolve_by
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.read import plan_rows as module
from arctic.job.read import plan_rows as planning
from arctic.job.read.asked_read import ReadSettings
from arctic.job.read.plan_rows import KeptPlans, plan_rows
from arctic.scan.plan_scan import ScanPlan
from arctic.scan.scan_input import SetApart
from tests.iceberg.stores import append, config_of, make, overwrite, reopened, row

SETTINGS = ReadSettings.of({}, {}, parallelism=2)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> KeptPlans:
    """Plans of few files are kept as well."""
    plans = KeptPlans(least_files=0, most_files=100)
    monkeypatch.setattr(planning, "KEPT_PLANS", plans)
    return plans


def plan(opened: OpenTable, where: str | None = None, **asked: Any) -> ScanPlan:
    """Plan a read of the newest state."""
    row_filter = None if where is None else parse_filter(where, opened)
    given = {"row_filter": row_filter, **asked}
    settings = given.pop("settings", SETTINGS)
    return plan_rows(
        opened, given.pop("snapshot", None) or pin(opened.refreshed()), settings, **given
    )


def anew(monkeypatch: pytest.MonkeyPatch, opened: OpenTable, *which: Any, **asked: Any) -> ScanPlan:
    """Plan without what is kept."""
    with monkeypatch.context() as patched:
        patched.setattr(planning, "KEPT_PLANS", KeptPlans(least_files=0, most_files=0))
        return plan(opened, *which, **asked)


@pytest.mark.usefixtures("kept")
def test_a_question_that_is_asked_again_opens_no_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opened the table, as long as nobody committed."""
    opened = make(tmp_path)
    append(opened, [row(1), row(2, "us")])
    first = plan(reopened(opened), "id > 1")
    with monkeypatch.context() as patched:
        patched.delattr(planning, "list_files")
        assert plan(reopened(opened), "id > 1") is first

    append(opened, [row(3)])
    assert plan(reopened(opened), "id > 1") == anew(monkeypatch, reopened(opened), "id > 1")
    assert plan(reopened(opened), "id > 1") != first


@pytest.mark.usefixtures("kept")
def test_every_question_has_a_plan_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that differs in the sign of a zero, and one of an earlier state."""
    opened = make(tmp_path)
    overwrite(opened, [row(1, score=0.0), row(2, "us", score=-0.0)], up_to=0)
    before = pin(reopened(opened))
    append(reopened(opened), [row(3, score=1.0)], [row(1)])
    divided = replace(SETTINGS, division=replace(SETTINGS.division, open_file_cost_bytes=1))
    questions: list[tuple[tuple[str, ...], dict[str, Any]]] = [
        ((), {}),
        (("score = 0.0",), {}),
        (("score = -0.0",), {}),
        (("score = 0",), {}),
        (("region = 'us'",), {}),
        ((), {"store": "base"}),
        ((), {"store": "change"}),
        ((), {"set_apart": SetApart.CLEAN}),
        ((), {"settings": divided}),
        ((), {"snapshot": before}),
    ]
    for _ in range(2):
        for which, asked in questions:
            now = reopened(opened)
            assert plan(now, *which, **asked) == anew(monkeypatch, now, *which, **asked)


@pytest.mark.usefixtures("kept")
def test_a_table_that_changed_its_columns_or_was_made_again_is_planned_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither makes a snapshot that would tell."""
    opened = make(tmp_path)
    first = plan(opened)
    config = config_of(tmp_path)
    evolve_by(config, "db.t", lambda _: SchemaChange(rename={"score": "points"}))
    now = reopened(opened)
    assert plan(now, "points is null") == anew(monkeypatch, now, "points is null")

    drop_table(config, "db.t")
    assert plan(make(tmp_path)) is not first


def test_only_so_many_files_are_kept(tmp_path: Path, kept: KeptPlans) -> None:
    """The plans that were asked for longest ago go, and none is kept that is larger alone."""
    opened = make(tmp_path)
    append(opened, [row(1), row(2, "us")])
    opened = reopened(opened)
    first, second = plan(opened, "id = 1"), plan(opened, "id = 2")
    assert plan(opened, "id = 1") is first
    kept._most_files = 2 * first.considered_files
    plan(opened, "id = 3")
    assert plan(opened, "id = 1") is first
    assert plan(opened, "id = 2") is not second

    kept._most_files = first.considered_files - 1
    assert plan(opened, "id = 4") is not plan(opened, "id = 4")


def test_a_table_whose_plans_are_not_kept_is_asked_no_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a process that keeps plans of another table."""
    plans = KeptPlans(least_files=2, most_files=100)
    monkeypatch.setattr(planning, "KEPT_PLANS", plans)
    large, small = (make(tmp_path / name) for name in ("large", "small"))
    for number in range(2):
        append(large, [row(number)])
        large = reopened(large)
    append(small, [row(1)])
    small = reopened(small)
    first = plan(large)
    with monkeypatch.context() as patched:
        patched.delattr(module, "_question")
        assert plan(small).considered_files == 1
    assert plan(large) is first
