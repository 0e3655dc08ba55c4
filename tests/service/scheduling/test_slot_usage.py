"""Slot time in a window: the sum of what ended in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from arctic.service.scheduling.slot_usage import SlotUsage

WINDOW = 100


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 50), st.integers(0, 60)), max_size=30)
)
def test_the_window_holds_what_ended_less_than_its_length_ago(
    spent: list[tuple[str, int, int]],
) -> None:
    """As a sum over everything says that ever ended."""
    usage, now = SlotUsage(WINDOW), 0
    ended: list[tuple[str, int, int]] = []
    for table, used, step in spent:
        now += step
        usage.record(table, used, now)
        ended.append((table, used, now))
        for name in "abc":
            assert usage.used_ms(name, now) == sum(
                used for table, used, at in ended if table == name and now - at < WINDOW
            )


def test_a_table_that_is_forgotten_was_given_nothing() -> None:
    """A new table of that name begins with nothing."""
    usage = SlotUsage(WINDOW)
    usage.record("a", 7, 1)

    usage.forget("a")

    assert usage.used_ms("a", 2) == 0


def test_what_was_told_by_a_clock_that_was_ahead_does_not_count_for_ever() -> None:
    """Only what is nearer than the window, before or behind."""
    usage = SlotUsage(WINDOW)
    usage.record("a", 7, 1_000)
    usage.record("a", 5, 20)

    assert usage.used_ms("a", 20) == 5
