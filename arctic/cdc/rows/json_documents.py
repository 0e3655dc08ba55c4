"""Messages that are JSON objects, parsed together by Arrow.

Strategy: each begins and ends with a brace and has no line break, so joined by line breaks they are
read as one file: ``}`` and ``{`` meet only between documents, and as many documents as messages are
one for each.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

_ODD = r"[\n\r\x{FDD0}]|\\[uU][fF][dD][dD]0"
_MOST_OPENED = 1000
"""Braces of a message, and brackets: some ten times as many within each other end the process."""
_MOST_BYTES = 2**26
_BLOCK_BYTES = 2**20


def is_plain(messages: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return which messages may be read so; null is not."""
    is_object = pc.and_(pc.starts_with(messages, "{"), pc.ends_with(messages, "}"))
    is_odd = pc.match_substring_regex(messages, _ODD)
    # To count takes longer than all else, and most messages have fewer bytes than that.
    longest = pc.max(pc.binary_length(messages)).as_py() or 0
    for opening in "{[" if longest > _MOST_OPENED else "":
        opened = pc.count_substring(messages, opening)
        is_odd = pc.or_(is_odd, pc.greater(opened, _MOST_OPENED))
    return pc.fill_null(pc.and_(is_object, pc.invert(is_odd)), False)


def parts(messages: pa.Array) -> Iterator[tuple[int, int]]:
    """Yield ranges of messages whose texts can be joined."""
    count = len(messages)
    size = max(1, count // max(1, -(-messages.nbytes // _MOST_BYTES)))
    for start in range(0, count, size):
        yield start, min(start + size, count)


def documents(messages: pa.Array, schema: pa.Schema | None, *, others: str = "ignore") -> pa.Table:
    """Parse messages, one document for each.

    Args:
        messages: plain ones, few enough to be joined.
        schema: of the fields; None: all that there are, in the types that they seem to have.
        others: what becomes of fields that the schema does not have: ``ignore`` or ``error``.

    Raises:
        pa.ArrowInvalid: they do not fit, or a known field is in a message twice.
    """
    offsets = pa.array([0, len(messages)], pa.int32())
    text = pc.binary_join(pa.ListArray.from_arrays(offsets, messages), "\n")[0].as_buffer()
    longest = pc.max(pc.binary_length(messages)).as_py() or 0
    options = pj.ParseOptions() if schema is None else pj.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior=others
    )  # fmt: skip
    found = pj.read_json(
        pa.BufferReader(text),
        read_options=pj.ReadOptions(block_size=max(_BLOCK_BYTES, 2 * longest)),
        parse_options=options,
    )
    if found.num_rows != len(messages):
        raise pa.ArrowInvalid(f"{len(messages)} messages are {found.num_rows} documents")
    return found.combine_chunks()
