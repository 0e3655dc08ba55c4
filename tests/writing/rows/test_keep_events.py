"""Events that all stay: what each of them is in the change store."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.writing.rows.actions import SPELLINGS, Action
from arctic.writing.rows.collapse import assign_offsets, keep_events

Entries = list[tuple[int | None, int | None]]


def entries(
    codes: list[int], events: str | None, *, order: list[int] | None = None, upserts: bool = True
) -> list[tuple[bool, int | None, int | None]]:
    """Return of each event whether it deletes, the row that it shows for that, and its insert."""
    actions = None
    if events is not None:
        actions = np.array([SPELLINGS[each] for each in events.split()], np.int8)
    kept = keep_events(
        np.array(codes),
        actions,
        order=None if order is None else np.array(order),
        upsert_inserts=upserts,
    )
    return [
        (bool(deletes), int(first) if image else None, int(last) if inserts else None)
        for deletes, image, inserts, first, last in zip(
            kept.deletes, kept.images, kept.inserts, kept.first, kept.last, strict=True
        )
    ]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("I", [(True, None, 0)]),
        ("U U", [(True, None, 0), (True, 0, 1)]),
        ("I D I", [(True, None, 0), (True, 0, None), (False, None, 2)]),
        ("-U +U -U +U", [(True, 0, 1), (True, 2, 3)]),
        ("D D", [(True, 0, None), (True, 1, None)]),
        ("-U I", [(True, 0, None), (False, None, 1)]),
    ],
)
def test_an_event_shows_what_it_replaces(
    events: str, expected: list[tuple[bool, int | None, int | None]]
) -> None:
    """As far as an event before it in the chunk, or it itself, says what that was."""
    assert entries([0] * len(events.split()), events) == expected


def test_inserts_of_new_keys_need_no_delete() -> None:
    """Unless they are to replace what is there, or come again."""
    assert entries([0, 1, 0], "I I I", upserts=False) == [
        (False, None, 0),
        (False, None, 1),
        (True, 0, 2),
    ]


def test_events_stand_in_their_order() -> None:
    """Whatever order the rows have."""
    assert entries([0, 1, 0], None, order=[2, 1, 0]) == [
        (True, None, 2),
        (True, None, 1),
        (True, 2, 0),
    ]
    assert entries([], None) == []


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(list(Action))), max_size=12),
    st.booleans(),
)
def test_a_merge_sees_the_last_event_of_a_key(
    events: list[tuple[int, Action]], upserts: bool
) -> None:
    """No insert but that of the last event is younger than every delete of its key."""
    codes = np.array([code for code, _ in events], np.int64)
    actions = np.array([action for _, action in events], np.int8)
    kept = keep_events(codes, actions, order=None, upsert_inserts=upserts)
    deleted_at, inserted_at, _ = assign_offsets(kept, 1)

    assert (np.diff(deleted_at[kept.deletes]) > 0).all()
    assert (np.diff(inserted_at[kept.inserts]) > 0).all()
    for code in set(codes.tolist()):
        own = codes[kept.last] == code
        last_delete = deleted_at[own & kept.deletes].max(initial=0)
        alive = kept.last[own & kept.inserts & (inserted_at >= last_delete)]
        ended = np.flatnonzero(codes == code)[-1]
        puts = actions[ended] in (Action.INSERT, Action.UPDATE_AFTER)
        assert alive.tolist() == ([ended] if puts else [])
