"""``make bench-drift`` with Arctic alone, and what it shares with others: answers, curves, page."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from benchmarks.drift.accounts import KEY, Accounts, Shape, write_accounts
from benchmarks.drift.expected import Expected
from benchmarks.drift.page import drawing, lines, section
from benchmarks.drift.workload import Rhythm, perform
from benchmarks.peers.environments import Peer
from benchmarks.peers.oracle import differing_answers
from benchmarks.peers.reasons import REASONS
from benchmarks.peers.recorder import record
from benchmarks.peers.result import Phase, SystemResult
from benchmarks.peers.sections import BEHIND, DRIFT, with_losses, with_others, with_section
from benchmarks.peers.spread import Line, losses_of, table_of

SHAPE = Shape(rows=1_000, commits=3, batch=100, skew=1.0, key="string")
RHYTHM = Rhythm(ask_every=3, keep_every=2, repeats=1)
OURS = Peer(name="arctic", script="arctic_plain")


@pytest.fixture(scope="module")
def accounts(tmp_path_factory: pytest.TempPathFactory) -> Accounts:
    """Few accounts, in the shape of the real run."""
    return write_accounts(tmp_path_factory.mktemp("accounts"), SHAPE)


@pytest.fixture(scope="module")
def result(accounts: Accounts, tmp_path_factory: pytest.TempPathFactory) -> SystemResult:
    """Arctic without Spark through all commits."""
    expected = Expected(accounts, RHYTHM.asked(SHAPE.commits))
    work = partial(perform, accounts=accounts, expected=expected, rhythm=RHYTHM)
    folder = tmp_path_factory.mktemp("run")
    return record(OURS, work, folder=folder, limit_seconds=60, say=lambda _: None)


def test_each_commit_has_as_many_keys_as_rows_and_some_come_back(accounts: Accounts) -> None:
    """Keys are 24 characters, no two alike in a commit; the hot one is in every commit."""
    keys = [pq.read_table(path).column(KEY).to_pylist() for path in accounts.upserts]
    loaded = set(pq.read_table(accounts.load).column(KEY).to_pylist())

    assert [len(set(each)) for each in keys] == [SHAPE.batch] * SHAPE.commits
    assert len(loaded) == SHAPE.rows
    assert {len(key) for key in loaded} == {24}
    assert all(len(set(each) - loaded) == SHAPE.batch // 10 for each in keys)
    assert all(accounts.hot_key.strip("'") in each for each in keys)


def test_skew_brings_the_same_accounts_again(tmp_path: Path, accounts: Accounts) -> None:
    """Commits of a skewed run have more accounts in common than those of an even one."""
    even = write_accounts(tmp_path, replace(SHAPE, skew=0.0))

    def shared(of: Accounts) -> int:
        first, *others = [set(pq.read_table(path).column(KEY).to_pylist()) for path in of.upserts]
        return len(first.intersection(*others))

    assert shared(accounts) > 2 * shared(even)


def test_arctic_goes_through_all_commits(result: SystemResult) -> None:
    """Every answer and every row is the expected one, and every step has a time."""
    assert result.failure == ""
    assert result.checked.endswith("at the end; answers: equal; rows: equal")
    assert all(phase.seconds is not None for phase in result.phases.values())
    assert [name for name in result.phases if name.startswith("up")] == [
        "upsert 1",
        "upsert 2",
        "upkeep 2",
        "upsert 3",
    ]


def test_section_has_the_figures_and_the_curves_are_well_formed(result: SystemResult) -> None:
    """One more system, twice as fast at all, is named in the table, the losses and the picture."""
    twice = {
        name: replace(phase, seconds=(phase.seconds or 0) / 2, times=())
        for name, phase in result.phases.items()
    }
    systems = [result, replace(result, name="other", phases=twice)]

    found = lines(systems, SHAPE, RHYTHM)
    drawn = ElementTree.fromstring(drawing(systems, SHAPE, RHYTHM))

    assert any("other takes 0.50x" in loss for loss in losses_of(systems, found))
    assert [line[0] for line in table_of(systems, found)][:3] == [
        "seconds",
        "load",
        "upsert, 3 times",
    ]
    assert "| load |" in section(systems, SHAPE, RHYTHM, "tried")
    assert len([each for each in drawn.iter() if each.tag.endswith("polyline")]) == 10


def test_losses_of_many_lines_are_told_at_once_and_a_limit_is_no_peer() -> None:
    """Of three queries one is alike, and the sum of all stands for itself."""
    systems = [SystemResult(name=name) for name in ("arctic-spark", "iceberg-mor", "parquet-spark")]

    def line(label: str, *seconds: float, one_of: str = "queries") -> Line:
        return Line(label=label, times=tuple((each,) for each in seconds), one_of=one_of)

    found = [
        line("sum of all", 10.0, 9.0, 1.0, one_of=""),
        line("Q1", 1.0, 0.5, 0.1),
        line("Q2", 1.0, 0.96, 0.1),
        line("Q3", 1.0, 0.8, 0.1),
    ]

    assert losses_of(systems, found) == [
        "2 of 3 queries: iceberg-mor takes 0.50x to 0.80x of its time",
        "sum of all: iceberg-mor takes 0.90x of its time",
    ]
    assert losses_of(systems, found[:3]) == [
        "1 of 2 queries: iceberg-mor takes 0.50x of its time",
        "sum of all: iceberg-mor takes 0.90x of its time",
    ]


def test_a_failed_system_has_no_figure_for_what_it_did_not_do(result: SystemResult) -> None:
    """One upsert without a time leaves the line of upserts and the sum empty."""
    phases = {**result.phases, "upsert 2": Phase(reason="> 60 s")}

    found = {
        line.label: line.times[0] for line in lines([replace(result, phases=phases)], SHAPE, RHYTHM)
    }

    assert found["upsert, 3 times"] == ()
    assert found["all commits, each query once, upkeep"] == ()
    assert len(found["load"]) == 1


def test_wrong_answers_are_told_from_other_orders_and_last_digits() -> None:
    """Ties may come in any order and sums end differently; one wrong value is seen."""
    expected = [["a", 1, 0.1 + 0.2], ["b", 2, None]]

    assert differing_answers(expected, [["b", 2, None], ["a", 1, 0.3]]) == ""
    assert "found ['b', 3, None]" in differing_answers(expected, [["a", 1, 0.3], ["b", 3, None]])
    assert "found ['a', 1, 0.31]" in differing_answers(expected, [["a", 1, 0.31], expected[1]])
    assert differing_answers(expected, expected[:1]) == "1 rows, expected 2"


def test_a_section_is_replaced_alone_and_losses_come_first() -> None:
    """All else of a page stays; a page written anew keeps what other commands wrote."""
    page = "# Benchmarks\n\nHead.\n\n## Through Spark\n\nold\n\n## Are the rows right?\n\nyes\n"

    once = with_losses(with_section(page, DRIFT, "one"), DRIFT, ["load: x takes 0.50x"])
    twice = with_losses(with_section(once, DRIFT, "two"), DRIFT, ["load: y takes 0.40x"])
    twice = with_losses(twice, "Through Spark", ["delete: z takes 0.30x"])
    nowhere = with_losses(page, "Through Spark", [])
    somewhere = with_losses(nowhere, DRIFT, ["load: x takes 0.50x"])
    anew = with_losses(with_others(page.replace("old", "new"), twice), "Through Spark", [])

    titles = [line.removeprefix("## ") for line in twice.splitlines() if line.startswith("## ")]
    assert titles == [BEHIND, "Through Spark", DRIFT, "Are the rows right?"]
    assert "\none\n" in once
    assert "\none\n" not in twice
    assert "x takes" not in twice
    assert f"- {DRIFT}: load: y takes 0.40x" in anew
    assert "z takes" not in anew
    assert "- None." in nowhere
    assert "- None." not in somewhere
    assert anew.count("\ntwo\n") == 1
    assert anew.count(REASONS) == 1
    assert not [line for line in REASONS.splitlines() if line.startswith("- ")]
    assert "\nnew\n" in anew
