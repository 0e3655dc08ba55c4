from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from arctic.tree.key_range import ColumnRange, KeyRange, KeyRangeIndex

KEY_IDS = (1, 2)
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Bounds of one column."""

    lower: Any
    upper: Any
    null_count: int | None


def _bounded_file(seed: int) -> tuple[list[Key], dict[int, Known]]:
    """Make the keys of a file, with bounds that are true of them but may say less.

    From a seed, because only dense examples tell one comparison from another.
    """
    random = Random(seed)
    values = [random.choice([0, 1, 1, 2, 2, 3, None]) for _ in range(random.randint(1, 3))]
    keys = [(value, random.choice("aabc")) for value in values]
    bounds = {}
    for key_id, column in zip(KEY_IDS, zip(*keys, strict=True), strict=True):
        known = [value for value in column if value is not None]
        bounds[key_id] = Known(
            lower=random.choice([min(known, default=None)] * 4 + [None]),
            upper=random.choice([max(known, default=None)] * 4 + [None]),
            null_count=random.choice([column.count(None)] * 4 + [None]),
        )
    return keys, {key_id: known for key_id, known in bounds.items() if random.random() < 0.9}


def ranges_overlap(
    one: dict[int, Known], other: dict[int, Known], key_ids: tuple[int, ...]
) -> bool:
    """Say whether some key may lie in both files."""
    return KeyRange.of(one, key_ids).overlaps(KeyRange.of(other, key_ids))


def bounded_files() -> st.SearchStrategy[tuple[list[Key], dict[int, Known]]]:
    """Draw a file."""
    return st.integers(0, 2**32 - 1).map(_bounded_file)


@given(bounded_files(), bounded_files())
def test_files_that_share_a_key_overlap(
    one: tuple[list[Key], dict[int, Known]], other: tuple[list[Key], dict[int, Known]]
) -> None:
    """A range may say yes without reason, but never no where a key is in both."""
    shared = set(one[0]) & set(other[0])
    overlap = ranges_overlap(one[1], other[1], KEY_IDS)

    assert overlap or not shared
    assert overlap == ranges_overlap(other[1], one[1], KEY_IDS)


@given(
    st.lists(bounded_files(), min_size=3, max_size=8),
    bounded_files(),
    st.sampled_from([(1,), KEY_IDS]),
)
def test_an_index_finds_what_overlaps(
    files: list[tuple[list[Key], dict[int, Known]]],
    probe: tuple[list[Key], dict[int, Known]],
    key_ids: tuple[int, ...],
) -> None:
    """The index skips ranges, but only such as do not overlap."""
    ranges = [KeyRange.of(bounds, key_ids) for _, bounds in files]
    wanted = KeyRange.of(probe[1], key_ids)

    index = KeyRangeIndex(ranges)
    found = list(index.overlapping(wanted))

    assert [n for n, keys in enumerate(ranges) if keys.overlaps(wanted)] == sorted(found)
    assert len(set(found)) == len(found)
    assert sorted(index.all_overlapping(wanted)) == sorted(found)


@given(st.lists(bounded_files(), min_size=1, max_size=5), bounded_files())
def test_hull_and_core_stand_for_all(
    files: list[tuple[list[Key], dict[int, Known]]], probe: tuple[list[Key], dict[int, Known]]
) -> None:
    """What misses the hull misses each range; what overlaps the core overlaps each range."""
    ranges = [KeyRange.of(bounds, KEY_IDS) for _, bounds in files]
    wanted = KeyRange.of(probe[1], KEY_IDS)
    overlaps = [keys.overlaps(wanted) for keys in ranges]

    assert KeyRange.hull(ranges).overlaps(wanted) or not any(overlaps)
    assert all(overlaps) or not KeyRange.core(ranges).overlaps(wanted)
    assert all(overlaps) or not KeyRangeIndex([wanted]).all_overlapping(KeyRange.core(ranges))


def test_disjoint_columns_tell_files_apart() -> None:
    """One column is enough, whatever the others say."""
    first = {1: Known(lower=1, upper=5, null_count=0), 2: Known(lower="a", upper="z", null_count=0)}
    second = {
        1: Known(lower=6, upper=9, null_count=0),
        2: Known(lower="a", upper="z", null_count=0),
    }

    assert not ranges_overlap(first, second, KEY_IDS)
    assert ranges_overlap(first, second, (2,))


def test_nulls_on_both_sides_overlap() -> None:
    """A null key equals a null key."""
    low, high = ColumnRange(1, 5, True), ColumnRange(6, 9, True)

    assert KeyRange((low,)).overlaps(KeyRange((high,)))
    assert not KeyRange((low,)).overlaps(KeyRange((high._replace(may_be_null=False),)))


def test_a_column_with_an_unknown_number_of_nulls_may_hold_one() -> None:
    """Silence is no proof."""
    low, high = (Known(lower=n, upper=n, null_count=None) for n in (1, 9))

    assert ranges_overlap({1: low}, {1: high}, (1,))
    assert not ranges_overlap({1: low}, {1: Known(lower=9, upper=9, null_count=0)}, (1,))


def test_floating_point_bounds_tell_nothing() -> None:
    """NaN equals NaN as a key, and no bound says whether there is one."""
    low, high = Known(lower=1.0, upper=2.0, null_count=0), Known(lower=3.0, upper=4.0, null_count=0)

    assert ranges_overlap({1: low}, {1: high}, (1,))


def test_what_ends_before_is_skipped_behind_what_does_not() -> None:
    """A wide range that begins first lets the index look at narrow ones, which it must judge."""
    wide, narrow, touching, later = (
        KeyRange((ColumnRange(lower, upper, False),))
        for lower, upper in ((1, 9), (2, 4), (3, 5), (8, 9))
    )
    index = KeyRangeIndex([wide, narrow, touching, later])
    probe = KeyRange((ColumnRange(5, 7, False),))

    assert sorted(index.overlapping(probe)) == [0, 2]
    assert sorted(index.all_overlapping(probe)) == [0, 2]


def test_without_key_columns_everything_overlaps() -> None:
    """An unkeyed table has one range."""
    index = KeyRangeIndex([KeyRange(()), KeyRange(())])

    assert ranges_overlap({}, {}, ())
    assert sorted(index.overlapping(KeyRange(()))) == [0, 1]
