"""Heads of messages are the same, whichever way they are found."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from arctic.cdc.rows.debezium_heads import message_heads

OTHERWISE = '{"op":1,"source":{"db":"s","table":"t"}}'
"""What Arrow cannot read as the others, so DuckDB looks at all of them."""
ROWS = st.sampled_from(['{"id":1}', "{}", "null", None])
SOURCES = st.sampled_from(
    [
        '{"db":"s","table":"t"}',
        '{"schema":"p","db":"s","table":"t"}',
        '{"schema":null,"table":"t"}',
        '{"schema":"","db":"s","table":"t","snapshot":[1]}',
        '{"db":"s","table":null}',
        "{}",
        "null",
        None,
    ]
)
OPS = st.sampled_from([*(f'"{op}"' for op in "crudtmx"), "null", None])


@st.composite
def envelopes(draw: st.DrawFn) -> str:
    """Return an object with some fields of an envelope, in any order."""
    fields = {"op": draw(OPS), "before": draw(ROWS), "after": draw(ROWS), "source": draw(SOURCES)}
    names = draw(st.permutations([*fields, "ts_ms", "x"]))
    fields |= {"ts_ms": "1", "x": '{"op":"d","after":{"id":[2]}}'}
    return "{" + ",".join(f'"{n}":{fields[n]}' for n in names if fields[n] is not None) + "}"


@settings(max_examples=30)
@given(st.lists(envelopes(), min_size=1, max_size=20), st.booleans())
def test_heads_are_found_alike(messages: list[str], has_others: bool) -> None:
    """Also between messages that are no candidates at all."""
    if has_others:
        messages = [messages[0], "[1]", *messages, "{\n}"]
    found = message_heads(pa.chunked_array([messages]))
    slowly = message_heads(pa.chunked_array([[*messages, OTHERWISE]]))

    assert found.to_pylist() == slowly.to_pylist()[:-1]


def test_a_batch_of_nothing_has_no_heads() -> None:
    """Nor has one of tombstones any that count."""
    assert message_heads(pa.chunked_array([], pa.string())).num_rows == 0
    assert message_heads(pa.chunked_array([[None]], pa.string()))["is_later"].to_pylist() == [False]
