from __future__ import annotations

from collections import Counter

from fuzz.__main__ import print_results, run
from fuzz.layers import KINDS as LIVES
from fuzz.parts import Part, live, parts_of
from fuzz.worker import APART, EXACT, KINDS, NAMED, UNNAMED

TRIALS = 5
"""Of each kind of file; making the lake takes as long as all of them."""


def test_damage_is_named_or_changes_nothing() -> None:
    """Some trials of ``make fuzz`` on each kind of file; no process dies of one."""
    results = run(range(TRIALS * len(KINDS)), seed="ci", workers=1)

    assert print_results(results, seed="ci").keys() <= {EXACT, NAMED, APART}
    assert set(Counter(each["kind"] for each in results.values()).values()) == {TRIALS}


def test_files_without_checksums_end_no_process() -> None:
    """As other engines write them: rows may be wrong then, but every failure is one of ours."""
    results = run(range(len(KINDS)), seed="ci", workers=1, foreign=True)

    failed = [each for each in results.values() if each["outcome"] == UNNAMED]
    assert not [each for each in failed if "Error: " not in each["why"]]


def test_histories_are_dealt_into_parts_with_seeds_of_their_own() -> None:
    """As many as are asked for, by the shares of kinds; no part is another one again."""
    parts = parts_of({"dear": 1, "cheap": 20, "other": 20}, 1_502, 7, 250)

    assert len(set(parts)) == len(parts) == 7
    lived = {
        kind: sum(each.histories for each in parts if each.kind == kind)
        for kind in ("dear", "cheap", "other")
    }
    assert lived == {"dear": 36, "cheap": 733, "other": 733}
    assert {each.seed for each in parts} == {7, 8, 9}


def test_histories_are_counted_and_what_they_drew() -> None:
    """A case that may not have occurred at all is told as well, so that none is missed."""
    lived = live(Part(kind="first-row", seed=1, histories=2), LIVES["first-row"])

    assert lived.histories == 2
    assert lived.drawn["write"] > 0
    assert lived.drawn["published v2"] + lived.drawn["published clean"] == 4
    assert "expire 0" in lived.drawn
