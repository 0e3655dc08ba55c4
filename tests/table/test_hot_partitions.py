"""What is learnt of the sizes of partitions, and what becomes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.errors import InvalidInputError
from arctic.table.hot_partitions import PartitionShares, hot_partitions

counts = st.dictionaries(st.text(min_size=1, max_size=3), st.integers(0, 1000), max_size=100)


@given(st.lists(counts, max_size=5))
def test_shares_are_shares_and_survive_as_text(batches: list[dict[str, int]]) -> None:
    """Each is above 0, together they are at most 1, and few are kept."""
    shares = PartitionShares()
    for rows in batches:
        shares = shares.after(rows)
    read = PartitionShares.parse(shares.text())

    assert all(0 < share <= 1 for share in shares.shares.values())
    assert sum(shares.shares.values()) <= 1 + 1e-9
    assert len(shares.shares) <= 64
    assert not read.differs_from(shares)


def test_what_was_learnt_fades() -> None:
    """A partition that gets nothing any more is forgotten after a few batches."""
    shares = PartitionShares().after({"day=1": 100})
    for _ in range(10):
        shares = shares.after({"day=2": 100})

    assert list(shares.shares) == ["day=2"]


@given(
    st.lists(st.integers(1, 100), min_size=1, max_size=20),
    st.integers(1, 200),
    st.sampled_from([None, 1, 4, 16]),
    st.booleans(),
)
def test_hot_partitions_stay_within_their_bounds(
    sizes: list[int], task_count: int, nodes: int | None, deepens: bool
) -> None:
    """Parts are powers of two where there is a key, and bounded in sum."""
    shares = PartitionShares().after({f"p={place}": size for place, size in enumerate(sizes)})
    hot = hot_partitions(shares, task_count=task_count, nodes=nodes, deepens=deepens)

    assert all(0 <= each.first_task < task_count for each in hot)
    assert len(hot) <= task_count
    if nodes is None:
        assert all(1 < each.parts <= task_count or task_count == 1 for each in hot)
        assert sum(each.parts for each in hot) <= 2 * task_count
    else:
        assert all(each.parts >= nodes and each.parts & (each.parts - 1) == 0 for each in hot)
        assert all(deepens or each.parts == nodes for each in hot)
        assert sum(each.parts for each in hot if each.parts > nodes) <= 4 * task_count


@pytest.mark.parametrize("text", ["", "[]", '{"a": "b"}', '{"a": 2}', '{"a": 0}'])
def test_a_text_that_is_none_is_refused(text: str) -> None:
    """Who reads it decides what to do without."""
    with pytest.raises(InvalidInputError, match="partition shares"):
        PartitionShares.parse(text)
