"""Files cut into blocks: every byte is in one block, and a file is known by how it is reached."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from arctic.iceberg.storage.cache.block import (
    BLOCK_BYTES,
    block_range,
    blocks_in,
    file_key,
    numbers_of,
)
from arctic.iceberg.storage.io_properties import opened_by

SIZES = st.integers(1, 5 * BLOCK_BYTES)


@given(size=SIZES, data=st.data())
def test_blocks_of_a_range_hold_it_and_no_block_more(size: int, data: st.DataObject) -> None:
    """They follow one another, and their first and last hold something of the range."""
    start = data.draw(st.integers(0, size - 1))
    end = data.draw(st.integers(start + 1, size))
    places = [block_range(number, size) for number in numbers_of(start, end, size)]

    assert places[0][0] <= start < places[0][1]
    assert places[-1][0] < end <= places[-1][1]
    assert all(before[1] == after[0] for before, after in pairwise(places))


@given(size=SIZES)
def test_blocks_put_together_are_the_file(size: int) -> None:
    """The last one is number 0, and none is longer than a block."""
    content = (bytes(range(251)) * (size // 251 + 1))[:size]
    blocks = blocks_in(content, 0, size)

    assert b"".join(block.content for block in blocks) == content
    assert [block.number for block in blocks] == list(reversed(range(len(blocks))))
    assert max(len(block.content) for block in blocks) <= BLOCK_BYTES
    assert {block.file_bytes for block in blocks} == {size}


def test_an_empty_range_is_of_no_block() -> None:
    """Also of a file without a byte."""
    assert list(numbers_of(5, 5, 10)) == []
    assert list(numbers_of(0, 0, 0)) == []


def test_a_file_reached_otherwise_is_another_file() -> None:
    """At another address, by other keys, by somebody else; not by keys that a catalog hands out."""
    here, keys = {"s3.endpoint": "http://a"}, {"s3.access-key-id": "x"}
    token = {"s3.session-token": "1", **keys}

    assert file_key("p", here) == file_key("p", dict(here))
    different = [
        file_key("p", here),
        file_key("q", here),
        file_key("p", {"s3.endpoint": "http://b"}),
        file_key("p", {**here, **keys}),
        file_key("p", {**here, "s3.access-key-id": "y"}),
    ]
    assert len(set(different)) == len(different)
    later = {"s3.session-token": "2", "s3.access-key-id": "z"}
    assert file_key("p", {**here, **token}) != file_key("p", {**here, **later})
    me, other = ({**here, **opened_by({"credential": text})} for text in ("me:1", "other:1"))
    assert file_key("p", {**me, **token}) == file_key("p", {**me, **later})
    assert file_key("p", {**me, **token}) != file_key("p", {**other, **token})
