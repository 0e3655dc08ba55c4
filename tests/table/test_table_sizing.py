"""What a table chooses by what its runs measured."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.errors import FormatError
from arctic.table.table_sizing import MOST_FILES, RUNS_A_REST, RUNS_AN_INTERVAL, TableSizing

MINUTE = 60_000
GIB = 2**30
MEASURES = st.integers(0, 10**8)
RUNS = st.lists(st.tuples(st.none() | MEASURES, st.none() | st.integers(0, 2**45)), max_size=12)


def measured(runs: Sequence[tuple[int | None, int | None]]) -> TableSizing:
    """Return what some runs lead to."""
    sizing = TableSizing()
    for run_ms, base_bytes in runs:
        sizing = sizing.after(run_ms=run_ms, base_bytes=base_bytes)
    return sizing


def usual(run_ms: int, before: TableSizing | None = None) -> TableSizing:
    """Return what is chosen once a run usually takes so long."""
    sizing = before or TableSizing()
    for _ in range(5):
        sizing = sizing.after(run_ms=run_ms, base_bytes=None)
    return sizing


@given(RUNS)
def test_it_is_read_back(runs: list[tuple[int | None, int | None]]) -> None:
    """The next run goes on where the last one was."""
    sizing = measured(runs)
    assert TableSizing.of({"arctic.sizing": sizing.text()}) == sizing


@given(RUNS)
def test_choices_stay_within_their_bounds(runs: list[tuple[int | None, int | None]]) -> None:
    """Whatever was measured; a table that was never looked at has the defaults."""
    sizing = measured(runs)
    assert 128 * 2**20 <= sizing.target_bytes <= 512 * 2**20
    assert 30 * MINUTE <= sizing.minor_interval_ms <= 240 * MINUTE
    assert MINUTE <= sizing.rest_ms <= 16 * MINUTE
    assert len(sizing.run_ms) <= 5
    if not any(run_ms is not None for run_ms, _ in runs):
        assert (sizing.minor_interval_ms, sizing.rest_ms) == (60 * MINUTE, MINUTE)


@given(MEASURES, MEASURES)
def test_who_takes_longer_is_run_no_more_often(one: int, other: int) -> None:
    """From the same beginning."""
    less, more = (usual(each) for each in sorted((one, other)))
    assert less.minor_interval_ms <= more.minor_interval_ms
    assert less.rest_ms <= more.rest_ms


@given(MEASURES)
def test_runs_take_the_share_of_time_that_is_meant(run_ms: int) -> None:
    """A quarter more at most, unless the longest step is in force."""
    sizing = usual(run_ms)
    is_last = sizing.minor_interval_ms == 240 * MINUTE
    assert is_last or sizing.minor_interval_ms * 5 >= run_ms * RUNS_AN_INTERVAL * 4
    assert sizing.rest_ms == 16 * MINUTE or sizing.rest_ms * 5 >= run_ms * RUNS_A_REST * 4


@given(MEASURES, MEASURES, st.floats(0.65, 1.5))
def test_what_differs_by_some_tenths_takes_no_choice_back(
    first: int, second: int, share: float
) -> None:
    """A choice that moved up does not move down by it, and the other way round."""
    before, after = (held := usual(first)), usual(second, held)
    then = usual(int(second * share), after)
    for name in ("minor_interval_ms", "rest_ms"):
        was, now, later = (getattr(each, name) for each in (before, after, then))
        assert not was < now > later
        assert not was > now < later


@given(st.integers(0, 2**45))
def test_base_is_of_a_bounded_number_of_files(base_bytes: int) -> None:
    """Of the target size; a quarter more at most, unless it is the largest."""
    sizing = TableSizing().after(run_ms=None, base_bytes=base_bytes)
    files = base_bytes // sizing.target_bytes
    assert files <= MOST_FILES * 5 // 4 or sizing.target_bytes == 512 * 2**20
    assert sizing.after(run_ms=None, base_bytes=base_bytes) == sizing


def test_what_is_chosen_in_practice() -> None:
    """The words of the documents."""
    assert usual(2_000).minor_interval_ms == 30 * MINUTE
    assert usual(30_000).minor_interval_ms == 60 * MINUTE
    assert usual(600_000).minor_interval_ms == 240 * MINUTE
    assert [usual(each).rest_ms // MINUTE for each in (2_000, 60_000, 600_000)] == [1, 4, 16]
    sizes = [100 * GIB, 700 * GIB, 2_000 * GIB]
    chosen = [TableSizing().after(run_ms=None, base_bytes=each).target_bytes for each in sizes]
    assert [each // 2**20 for each in chosen] == [128, 256, 512]


def test_one_long_run_says_nothing() -> None:
    """A first load takes long; what follows does not."""
    assert measured([(10**7, None)] * 2).minor_interval_ms == 60 * MINUTE
    assert measured([(10**7, None)] + [(1_000, None)] * 4).minor_interval_ms == 30 * MINUTE


@pytest.mark.parametrize("text", ["", "8", "[]", "{}", '{"target_bytes": "x"}'])
def test_what_cannot_be_read_is_named(text: str) -> None:
    """With what to do about it."""
    with pytest.raises(FormatError, match=r"arctic\.sizing.*remove it"):
        TableSizing.of({"arctic.sizing": text})
