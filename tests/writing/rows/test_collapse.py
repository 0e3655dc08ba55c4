"""What is left of the events of a key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.errors import InternalError
from arctic.writing.rows.actions import SPELLINGS
from arctic.writing.rows.collapse import (
    SeenKeys,
    Survivors,
    assign_offsets,
    collapse,
    first_offset,
)
from arctic.writing.target import TaskId
from arctic.writing.write_request import WriteMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The events of one key, and what they come to."""

    events: str
    deletes: bool = True
    image: bool = False
    inserts: bool = True
    upsert_inserts: bool = True


CASES = [
    Case(events="I"),
    Case(events="I", deletes=False, upsert_inserts=False),
    Case(events="U"),
    Case(events="U", upsert_inserts=False),
    Case(events="D", image=True, inserts=False),
    Case(events="-U", image=True, inserts=False),
    Case(events="-U +U", image=True),
    Case(events="-U +U -U +U", image=True),
    Case(events="D I", image=True),
    Case(events="D I D", image=True, inserts=False),
    Case(events="I D", inserts=False),
    Case(events="I I", deletes=False, upsert_inserts=False),
    Case(events="I D", inserts=False, upsert_inserts=False),
    Case(events="I -U +U", upsert_inserts=False),
    Case(events="I D I", upsert_inserts=False),
    Case(events="U D", inserts=False),
    Case(events="U -U", inserts=False),
    Case(events="I I"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.events}, {c.upsert_inserts}")
def test_first_and_last_event_decide(case: Case) -> None:
    """The first says what was there, the last what is there afterwards."""
    actions = np.array([SPELLINGS[text] for text in case.events.split()], dtype=np.int8)

    survivors = collapse(
        np.zeros(len(actions), dtype=np.int64),
        1,
        actions,
        order=None,
        mode=WriteMode.APPEND,
        upsert_inserts=case.upsert_inserts,
        finds_renewed=True,
    )

    assert survivors.deletes.tolist() == [case.deletes]
    assert survivors.images.tolist() == [case.image]
    assert survivors.inserts.tolist() == [case.inserts]
    assert (survivors.first.tolist(), survivors.last.tolist()) == ([0], [len(actions) - 1])


@pytest.mark.parametrize("mode", [WriteMode.UPSERT, WriteMode.DELETE])
def test_a_mode_gives_every_row_the_same_meaning(mode: WriteMode) -> None:
    """Without an action column nothing is known of old rows."""
    survivors = collapse(
        np.array([0, 1, 0]),
        2,
        None,
        order=None,
        mode=mode,
        upsert_inserts=False,
        finds_renewed=False,
    )

    assert survivors.last.tolist() == [1, 2]
    assert survivors.deletes.all()
    assert not survivors.images.any()
    assert survivors.inserts.all() == (mode is WriteMode.UPSERT)


@given(keys=st.lists(st.integers(0, 4)), data=st.data())
def test_survivors_follow_the_order_of_events(keys: list[int], data: Any) -> None:
    """Each key once, with its first and last event, by the last one; whatever the arrival."""
    order = data.draw(st.permutations(range(len(keys))))
    distinct = sorted(set(keys))
    codes = np.array([distinct.index(key) for key in keys], dtype=np.int64)

    survivors = collapse(
        codes,
        len(distinct),
        None,
        order=np.array(order, dtype=np.int64),
        mode=WriteMode.UPSERT,
        upsert_inserts=True,
        finds_renewed=False,
    )

    expected: dict[int, tuple[int, int]] = {}
    for row in order:
        first, _ = expected.pop(keys[row], (row, row))
        expected[keys[row]] = (first, row)
    found = list(zip(survivors.first.tolist(), survivors.last.tolist(), strict=True))
    assert found == list(expected.values())


def survivors_of(*flags: tuple[bool, bool, bool]) -> Survivors:
    """Return survivors by whether they delete, have an image, and insert."""
    deletes, images, inserts = (np.array(column, dtype=bool) for column in zip(*flags, strict=True))
    rows = np.arange(len(flags))
    return Survivors(
        first=rows,
        last=rows,
        deletes=deletes,
        images=images,
        inserts=inserts,
        renewed=~deletes,
    )


def test_a_known_update_carries_one_offset_and_an_unknown_one_two() -> None:
    """A delete kills only what is strictly older, so it may share its offset with its insert."""
    survivors = survivors_of(
        (True, False, True),  # upsert
        (True, True, True),  # known update
        (False, False, False),  # came and went
        (True, True, False),  # delete
        (False, False, True),  # insert
        (True, False, True),  # upsert
    )

    deletes, inserts, following = assign_offsets(survivors, 10)

    assert [int(deletes[key]) for key in (0, 1, 3, 5)] == [10, 12, 13, 15]
    assert [int(inserts[key]) for key in (0, 1, 4, 5)] == [11, 12, 14, 16]
    assert following == 17


@given(
    chunks=st.lists(
        st.dictionaries(
            st.integers(0, 9), st.tuples(st.booleans(), st.just(False), st.booleans()), min_size=1
        )
    )
)
def test_a_key_that_an_earlier_chunk_inserted_is_deleted(
    chunks: list[dict[int, tuple[bool, bool, bool]]],
) -> None:
    """However many chunks there are, and whatever becomes of the key; no other one is."""
    seen, inserted = SeenKeys(), set[int]()
    for chunk in chunks:
        hashes = np.array(list(chunk), dtype=np.int64)
        found = seen.with_deletes(survivors_of(*chunk.values()), hashes)

        expected = [key in inserted or deletes for key, (deletes, *_) in chunk.items()]
        assert found.deletes.tolist() == expected
        inserted.update(key for key, (*_, inserts) in chunk.items() if inserts)


def test_tasks_have_ranges_of_offsets_of_their_own() -> None:
    """The number of the input partition stands above a 40-bit counter."""
    last = 2**23 - 1

    assert first_offset(TaskId(partition_id=0, task_id=5, operation_id=1)) == 1
    assert first_offset(TaskId(partition_id=last, task_id=5, operation_id=1)) == last * 2**40 + 1
    for number in (-1, last + 1):
        with pytest.raises(InternalError, match="expected 0 to"):
            first_offset(TaskId(partition_id=number, task_id=5, operation_id=1))
