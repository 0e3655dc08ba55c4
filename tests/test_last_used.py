"""Values that were used last, in as much room as there is."""

from __future__ import annotations

import gc
import os
import weakref

from hypothesis import given
from hypothesis import strategies as st

from arctic.last_used import LastUsed


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["put", "get", "drop"]), st.integers(0, 4), st.integers(0, 9))
    ),
    most=st.integers(0, 20),
)
def test_what_is_held_is_what_was_used_last(steps: list[tuple[str, int, int]], most: int) -> None:
    """Against a list of all, from the one used longest ago to the last."""
    held: LastUsed[int, str] = LastUsed()
    model: list[tuple[int, str, int]] = []
    for number, (what, key, weight) in enumerate(steps):
        mine = [each for each in model if each[0] == key]
        others = [each for each in model if each[0] != key]
        if what == "put":
            gone = held.put(key, str(number), weight=weight, most=most)
            model = [*others, (key, str(number), weight)] if weight <= most else model
            before = sum(each[2] for each in model)
            while sum(each[2] for each in model) > most:
                model = model[1:]
            assert gone == before - sum(each[2] for each in model)
        elif what == "get":
            assert held.get(key) == (mine[0][1] if mine else None)
            model = [*others, *mine]
        else:
            held.drop(key)
            model = others
        assert held.weight == sum(each[2] for each in model)
    assert [held.get(key) for key, _, _ in model] == [value for _, value, _ in model]


def test_what_is_forgotten_weighs_nothing() -> None:
    """As in a process that has just begun."""
    held: LastUsed[str, int] = LastUsed()
    held.put("a", 1, weight=3, most=3)
    held.forget()

    assert held.get("a") is None
    assert held.weight == 0


def test_a_child_holds_nothing_even_if_its_parent_was_putting() -> None:
    """The thread that holds the lock is not in the child, which must not wait for it."""
    held: LastUsed[str, int] = LastUsed()
    held.put("a", 1, weight=3, most=3)
    gc.collect()  # What the child frees of its parent would say so.
    with held._lock:
        child = os.fork()
        if child == 0:
            os._exit(len(held.held()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert held.held() == [("a", 1)]


def test_what_nobody_uses_any_more_is_freed() -> None:
    """Whoever holds values for one piece of work leaves nothing behind, for forks neither."""
    held: LastUsed[str, int] = LastUsed()
    seen = weakref.ref(held)
    del held
    gc.collect()

    assert seen() is None
