"""What is read by columns is what the lists say, whatever the messages are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arctic.cdc.debezium import debezium_events
from arctic.cdc.decode import Decoding, Encoding
from arctic.cdc.events import Events
from arctic.cdc.json_rows import json_events
from arctic.cdc.rows.event_rows import TypedRows, typed_rows
from arctic.cdc.rows.json_documents import is_plain
from arctic.cdc.rows.json_images import JsonMessages
from arctic.cdc.rows.read_events import read_events
from arctic.cdc.unread import ReadColumn
from tests.cdc.listed import listed

DAYS, EPOCH = Decoding(encoding=Encoding.DAYS), Decoding(encoding=Encoding.MICROSECONDS)
UNSCALED = Decoding(encoding=Encoding.UNSCALED, scale=1)
COLUMNS = [
    ReadColumn(field=pa.field("id", pa.int64(), nullable=False), source="id"),
    ReadColumn(field=pa.field("n", pa.int32()), source="n"),
    ReadColumn(field=pa.field("s", pa.string()), source="s"),
    ReadColumn(field=pa.field("p", pa.decimal128(6, 2)), source="p"),
    ReadColumn(field=pa.field("u", pa.decimal128(6, 1)), source="u", decoding=UNSCALED),
    ReadColumn(field=pa.field("f", pa.float64()), source="f"),
    ReadColumn(field=pa.field("g", pa.float32()), source="g"),
    ReadColumn(field=pa.field("b", pa.bool_()), source="b"),
    ReadColumn(field=pa.field("d", pa.date32()), source="d", decoding=DAYS),
    ReadColumn(field=pa.field("t", pa.timestamp("us")), source="t"),
    ReadColumn(field=pa.field("e", pa.timestamp("us")), source="e", decoding=EPOCH),
]
NUMBERS = ["0", "-0", "7", "1.5", "1.50", "1.555", "1e2", "12E-1", "0e100", "1e400", "99999", "5.0"]
TEXTS = ['""', '"x"', '".5"', '"5."', '"12.5"', '"2024-01-02 03:04:05"', '"2024-01-02"', '"é"',
         '"\\u0000"', '"\\ud83d\\ude00"', '"\\ud800"', '"infinity"', '"NaN"', '"AQ=="', '"[1"',
         '"\\\\\\"{}"', '"\\n"', '"__debezium_unavailable_value"', '"\\ufdd0"']  # fmt: skip
LIKELY = {"id": "7", "n": "7", "s": '"x"', "p": "1.5", "u": '"AQ=="', "f": "1.5", "g": "7",
          "b": "true", "d": "7", "t": '"2024-01-02 03:04:05"', "e": "99999"}  # fmt: skip
VALUES = st.sampled_from(
    [*NUMBERS, *TEXTS, "null", "true", "false", "[]", "{}", "[1,2]", "01", "NaN", "tru"]
)


@st.composite
def rows(draw: st.DrawFn) -> str:
    """Return an object: mostly what a table expects, sometimes a surprise."""
    names = [name for name in LIKELY if draw(st.integers(0, 30))]
    fields = {
        name: draw(VALUES) if not draw(st.integers(0, 20)) else LIKELY[name] for name in names
    }
    for name in names:
        if name != "id" and not draw(st.integers(0, 5)):
            fields[name] = "null"
    pairs = [f'"{name}":{value}' for name, value in fields.items()]
    if not draw(st.integers(0, 20)):
        pairs.append(draw(st.sampled_from(['"id":8', '"x":1', '"x":1,"x":2', '"x":[{"id":3}]'])))
    return "{" + ",".join(pairs) + "}"


@st.composite
def changes(draw: st.DrawFn) -> str:
    """Return an envelope of Debezium."""
    op = draw(st.sampled_from("crudduux"))
    before = draw(rows()) if op in "ud" and draw(st.integers(0, 3)) else "null"
    after = draw(rows()) if op != "d" else "null"
    source = '{"db":"s","table":"t"}'
    return f'{{"before":{before},"after":{after},"source":{source},"op":"{op}","ts_ms":1}}'


def spoilt(messages: st.SearchStrategy[str]) -> st.SearchStrategy[str | None]:
    """Return messages of which a few are none."""
    odd = ["", "{}", "{", "null", "[1]", '{"id":1}{"id":2}', '{"id":1', '"x"', '{"id":\n1}', "}{"]
    return st.integers(0, 15).flatmap(
        lambda n: st.sampled_from([*odd, None]) if not n else messages
    )


def same(found: Events, columns: Sequence[ReadColumn], ordering: Sequence[str]) -> None:
    """Compare both ways."""
    slow = listed(found)
    expected = typed_rows(slow.events, columns, ["id"], ordering)
    result = read_events(found.events, columns, ["id"], ordering, unread=found.unread)

    assert shown(result) == shown(expected)
    assert result.rows.schema == expected.rows.schema
    result.rows.validate(full=True)
    assert broken(found, result) == broken(slow, expected)
    assert (result.lacking, result.nulls) == (expected.lacking, expected.nulls)


def shown(result: TypedRows) -> list[str]:
    """Return rows as texts, in which a number that is none equals itself."""
    return [repr(row) for row in result.rows.to_pylist()]


def broken(found: Events, result: TypedRows) -> list[Any]:
    """Return what goes to the quarantine."""
    every = pa.concat_tables([found.broken, result.broken])
    return sorted(every.to_pylist(), key=lambda row: row["seq"])


MESSAGES = st.lists(spoilt(rows()), max_size=80)


@settings(max_examples=10)
@given(MESSAGES, st.sampled_from([[], ["n"]]))
@example(['{"id":1,"n":5}', '{"id":2,"n":"5"}', '{"id":3,"n":"x"}', '{"id":4,"id":5}'], [])
def test_plain_rows_are_read_alike(messages: list[str | None], ordering: list[str]) -> None:
    """With an ordering column too."""
    topics = pa.array(["s.t"] * len(messages), pa.string())
    same(json_events(pa.array(messages, pa.string()), None, topics), COLUMNS, ordering)


@settings(max_examples=10)
@given(st.lists(spoilt(changes()), max_size=80), st.sampled_from([[], ["n"]]))
def test_changes_of_debezium_are_read_alike(
    messages: list[str | None], ordering: list[str]
) -> None:
    """Rows before, absent fields and values that nobody has included."""
    keys = pa.array(['{"id":7}'] * len(messages), pa.string())
    same(debezium_events(pa.array(messages, pa.string()), keys), COLUMNS, ordering)


def test_what_is_plain_is_read_by_columns_beside_what_is_not() -> None:
    """One message in a hundred that does not fit costs the others nothing."""
    good = [json.dumps({"id": number, "n": 5, "p": "1.50"}) for number in range(5000)]
    good[777] = '{"id": 777, "n": "many", "p": "1.50"}'
    topics = pa.array(["t"] * len(good))
    found = json_events(pa.array(good), None, topics)
    assert found.unread is not None
    images = list(found.unread.images(found.events["place"].to_numpy(), COLUMNS))

    assert 4900 < sum(len(image.at) for image in images) < 5000
    result = read_events(found.events, COLUMNS, ["id"], unread=found.unread)
    assert result.rows["id"].to_pylist() == [n for n in range(5000) if n != 777]
    assert [row["seq"] for row in result.broken.to_pylist()] == [777]


FILL = [*LIKELY, "x"]
LIKE = ["null", '"x"', "7", "1.5", "true", '"AQ=="', '"2024-01-02 03:04:05"', "[1]", "{}"]


@settings(max_examples=10)
@given(st.sampled_from(FILL), st.sampled_from([*LIKE, "absent", "twice"]), st.integers(0, 120),
       st.sampled_from(FILL), st.booleans())  # fmt: skip
def test_messages_of_which_one_is_unlike_the_first_are_read_alike(
    name: str, value: str, place: int, null: str, is_wrapped: bool
) -> None:
    """It leaves a field out, has another kind of value or a field that no other has."""
    likely = [(each, LIKELY[each]) for each in LIKELY]
    all_rows = [likely if n % 3 else [*likely[1:], ("id", str(n))] for n in range(120)]
    all_rows = [[(n, "null" if n == null and k % 5 else v) for n, v in row]
                for k, row in enumerate(all_rows)]  # fmt: skip
    odd = [pair for pair in likely if pair[0] != name]
    odd += [] if value == "absent" else [(name, value if value != "twice" else "7")]
    odd += [(name, "7")] if value == "twice" else []
    all_rows.insert(place, odd)
    messages = ["{" + ",".join(f'"{n}":{v}' for n, v in row) + "}" for row in all_rows]
    if is_wrapped:
        wrap = '{{"op":"u","before":{0},"after":{0},"source":{{"db":"s","table":"t","id":null}}}}'
        found = debezium_events(pa.array([wrap.format(each) for each in messages]))
    else:
        found = json_events(pa.array(messages), None, pa.array(["t"] * len(messages)))

    same(found, COLUMNS, [])


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_messages_that_are_alike_are_one_image(is_wrapped: bool) -> None:
    """Nobody looks at the fields of each, whatever is null."""

    def looked_up(_: pa.Array) -> pa.Array:
        raise AssertionError("fields were looked up")

    row = {"id": 1, "n": 5, "s": "x", "p": "1.5", "t": None}
    texts = [json.dumps({**row, "id": number, "n": None if number % 2 else 7})
             for number in range(500)]  # fmt: skip
    if is_wrapped:
        source = '{"db":"s","table":"t","name":null,"ts_ms":1}'
        wrapped = [f'{{"before":null,"after":{each},"source":{source},"op":"c"}}' for each in texts]
        found = debezium_events(pa.array(wrapped))
    else:
        found = json_events(pa.array(texts), None, pa.array(["t"] * 500))
    assert isinstance(found.unread, JsonMessages)
    unread = replace(found.unread, fields=looked_up)
    (image,) = unread.images(np.arange(500), COLUMNS)

    assert image.new is not None
    assert image.new.keys() == row.keys()
    same(replace(found, unread=unread), COLUMNS, [])


@pytest.mark.parametrize("depth", [900, 3000])
@pytest.mark.parametrize(("begin", "end"), [('{"a":', "}"), ("[", "]"), ('[{"a":', "}]")])
@pytest.mark.parametrize("is_wrapped", [False, True])
def test_values_deep_within_each_other_are_read_alike(
    depth: int, begin: str, end: str, is_wrapped: bool
) -> None:
    """Nobody wants the field that has them; it neither stops the rows nor ends the process."""
    deep = f'{{"id":1,"n":5,"x":{begin * depth}1{end * depth}}}'
    messages = [deep, *(f'{{"id":{number},"n":5}}' for number in range(99))]
    if is_wrapped:
        wrap = '{{"op":"c","after":{0},"source":{{"db":"s","table":"t"}}}}'
        found = debezium_events(pa.array([wrap.format(each) for each in messages]))
    else:
        found = json_events(pa.array(messages), None, pa.array(["t"] * len(messages)))

    same(found, COLUMNS, [])


def test_messages_of_very_many_braces_are_not_parsed_together() -> None:
    """They may be within each other."""
    within, beside = '{"a":' * 2000 + "1" + "}" * 2000, '{"a":' + "[" * 2000 + "]" * 2000 + "}"
    few = '{"a":' * 900 + "1" + "}" * 900

    found = is_plain(pa.array([within, beside, few, None, '{"a":[]}']))

    assert found.to_pylist() == [False, False, True, False, True]


def test_a_column_that_can_never_be_read_breaks_every_message() -> None:
    """As it does the slow way."""
    listing = ReadColumn(field=pa.field("l", pa.list_(pa.int32())), source="l")
    found = json_events(pa.array(['{"id":1,"l":[1]}', '{"id":2}']), None, pa.array(["t", "t"]))

    same(found, [COLUMNS[0], listing], [])
