"""The sieve for strings: equal values must hash alike wherever they lie."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.columns import sieve_hash
from arctic.columns.sieve_hash import sieve_hashes

TYPES = [pa.binary(), pa.large_binary()]


@given(
    values=st.lists(st.binary(max_size=40), min_size=1),
    before=st.lists(st.binary(max_size=9), max_size=2),
    after=st.lists(st.binary(max_size=9), max_size=2),
    kind=st.sampled_from(TYPES),
)
def test_a_hash_depends_on_the_value_alone(
    values: list[bytes], before: list[bytes], after: list[bytes], kind: pa.DataType
) -> None:
    """Not on its neighbours, a slice, the width of offsets, or whether lengths are equal."""
    array = pa.array([*before, *values, *after], kind)
    sliced = array.slice(len(before), len(values))
    alone = [sieve_hashes(pa.array([value], pa.binary()))[0] for value in values]
    assert sieve_hashes(sliced).tolist() == alone
    assert len(set(alone)) == len(set(values))


@given(st.integers(1, 40).flatmap(lambda size: st.lists(st.binary(min_size=size, max_size=size))))
def test_fixed_size_values_hash_like_others(values: list[bytes]) -> None:
    """Whether they are packed in rows of one length or behind offsets."""
    if values:
        fixed = pa.array(values, pa.binary(len(values[0])))
        assert sieve_hashes(fixed).tolist() == sieve_hashes(pa.array(values)).tolist()


def test_values_beyond_the_hashed_length_differ_by_length_and_end() -> None:
    """A huge value is not read to its end, so such hashes collide; equality is checked later."""
    size = sieve_hash.MAX_WORDS * 8
    values = [b"x" * (size + 100), b"x" * (size + 101), b"x" * (size + 99) + b"y"]
    assert len(set(sieve_hashes(pa.array(values)).tolist())) == 3
    twins = pa.array([b"x" * size + middle + b"x" * 90 for middle in (b"a", b"b")])
    assert len(set(sieve_hashes(twins).tolist())) == 1


@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.binary(3)])
def test_no_values_have_no_hashes(kind: pa.DataType) -> None:
    """An empty column has no buffers to look into."""
    assert sieve_hashes(pa.array([], kind)).tolist() == []
