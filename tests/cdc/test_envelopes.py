"""Messages of Debezium and wal2json: events, broken ones, and those that say nothing."""

from __future__ import annotations

import base64
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.cdc import debezium, wal2json
from arctic.cdc.decode import Decoding, Encoding
from arctic.cdc.envelopes import envelope_of
from arctic.cdc.events import Events, SourceColumn
from arctic.cdc.unavailable import UNAVAILABLE
from arctic.cdc.wal2json import wal2json_events
from tests.cdc.listed import listed


def debezium_events(*messages: Any) -> Events:
    """Parse messages, the slow way too."""
    return listed(debezium.debezium_events(*messages))


def shown(found: Events) -> list[tuple[Any, ...]]:
    """Return what counts of the events."""
    return [
        (
            row["source"],
            row["kind"],
            None if row["names"] is None else dict(zip(row["names"], row["vals"], strict=True)),
            None
            if row["old_names"] is None
            else dict(zip(row["old_names"], row["old_vals"], strict=True)),
        )
        for row in found.events.to_pylist()
    ]


def debezium_message(op: str, before: Any = None, after: Any = None, **more: Any) -> str:
    """Return an envelope without a schema."""
    source = {"db": "shop", "schema": "public", "table": "t", "lsn": 5}
    return json.dumps({"op": op, "before": before, "after": after, "source": source, **more})


def test_debezium_with_and_without_a_schema_is_the_same() -> None:
    """The schema only adds what the columns are."""
    plain = debezium_message("u", {"id": 1, "s": None}, {"id": 1, "s": "x"})
    fields = [{"field": "id", "type": "int32"}, {"field": "s", "type": "string"}]
    wrapped = json.dumps(
        {"schema": {"fields": [{"field": "after", "fields": fields}]}, "payload": json.loads(plain)}
    )

    found = debezium_events(pa.array([plain, wrapped]))

    event = ("public.t", "U", {"id": "1", "s": "x"}, {"id": "1", "s": None})
    assert shown(found) == [event, event]
    assert found.events["shape"][0].as_py() is None
    assert debezium.columns_of(found.events["shape"][1].as_py()) == (
        SourceColumn(name="id", type=pa.int32()),
        SourceColumn(name="s", type=pa.string()),
    )


def test_every_op_of_debezium() -> None:
    """A delete without a row before is known by its key; nested values stay JSON."""
    found = debezium_events(
        pa.array(
            [
                debezium_message("r", after={"id": 1, "f": 1.5, "b": True}),
                debezium_message("c", after={"id": 2, "n": {"a": [1]}}),
                debezium_message("d", {"id": 2, "n": None}),
                debezium_message("d"),
                debezium_message("t"),
                json.dumps({"op": "c", "after": {"id": 1}, "source": {"db": "my", "table": "t"}}),
            ]
        ),
        pa.array([None, None, None, '{"payload": {"id": 3}}', None, None]),
    )

    assert shown(found) == [
        ("public.t", "I", {"id": "1", "f": "1.5", "b": "true"}, None),
        ("public.t", "I", {"id": "2", "n": '{"a":[1]}'}, None),
        ("public.t", "D", None, {"id": "2", "n": None}),
        ("public.t", "D", None, {"id": "3"}),
        ("public.t", "T", None, None),
        ("my.t", "I", {"id": "1"}, None),
    ]


def test_a_value_that_debezium_did_not_have_is_not_mentioned() -> None:
    """So that the row before fills it, or nothing does."""
    after = {"id": 1, "s": UNAVAILABLE}
    found = debezium_events(pa.array([debezium_message("u", {"id": 1, "s": "big"}, after)]))

    assert shown(found) == [("public.t", "U", {"id": "1"}, {"id": "1", "s": "big"})]


_CODES = list(UNAVAILABLE.encode())
_BASE64 = base64.b64encode(UNAVAILABLE.encode()).decode()


@pytest.mark.parametrize(
    "form",
    [
        f'"{_BASE64}"',
        f'"{UNAVAILABLE.encode().hex()}"',
        f'["{UNAVAILABLE}"]',
        f'["{_BASE64}"]',
        '["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]',
        str(_CODES),
        str([float(code) for code in _CODES]),
        f"[{','.join(f'{code / 100:.2f}' for code in _CODES)}]",
        json.dumps([base64.b64encode(bytes([code])).decode() for code in _CODES]),
        f'{{"{UNAVAILABLE}": "{UNAVAILABLE}"}}',
        json.dumps([True] * len(_CODES)),
    ],
)
def test_the_value_that_debezium_did_not_have_has_a_form_for_each_type(form: str) -> None:
    """Bytes, arrays, maps: none of them is written over a value."""
    messages = [
        debezium_message("u", None, {"id": 1, "v": "?"}).replace('"?"', form),
        debezium_message("u", None, {"id": 1, "v": [95, 95]}),
    ]
    found = debezium_events(pa.array(messages))

    assert shown(found) == [("public.t", "U", {"id": "1", "v": "[95,95]"}, None)]
    assert found.broken["reason"].to_pylist() == [
        "column v: its value is unavailable, and so is the row before"
    ]


def test_an_array_that_may_stand_for_no_value_is_one_where_it_was_there_before() -> None:
    """As many truths as the placeholder has bytes; an insert has all of its values."""
    row = {"id": 1, "v": [True] * len(_CODES)}
    messages = [debezium_message("u", row, row), debezium_message("c", None, row)]

    assert debezium_events(pa.array(messages)).broken.num_rows == 0


def test_numbers_of_debezium_keep_their_digits() -> None:
    """Alone, nested, and beside texts that look like them; the schema is as it was."""
    source = '"source":{"schema":"s","table":"t"}'
    row = (
        '"n":1234567.12345678901,"z":0E-10,"i":-5,"\\\\":1.10,"t":"a\\":1.50,","c":":2.50",'
        '"a":[1.10, {"b":2.0}],"f":1.0E10,"u":"1.50","b":true,"x":null'
    )
    fields = '"fields":[{"field":"after","fields":[{"field":"n","type":"double","default":1.50}]}]'
    payload = f'{{"op":"c",{source},"after":{{{row}}}}}'

    found = debezium_events(pa.array([f'{{"schema":{{{fields}}},"payload":{payload}}}']))

    values = {
        "n": "1234567.12345678901", "z": "0E-10", "i": "-5", "\\": "1.10", "t": 'a":1.50,',
        "c": ":2.50", "a": '[1.10,{"b":2.0}]', "f": "1.0E10", "u": "1.50", "b": "true", "x": None,
    }  # fmt: skip
    assert shown(found) == [("s.t", "I", values, None)]
    assert found.events["numbers"].to_pylist() == [["n", "z", "i", "\\", "f"]]
    assert '"default":1.50' in found.events["shape"][0].as_py()


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("", "no JSON object"),
        ("{", "no JSON object"),
        ("[1]", "no JSON object"),
        ("5", "no JSON object"),
        ('{"id": 1}', "no op: not an envelope of Debezium"),
        ('{"payload": {"id": 1}}', "no op: not an envelope of Debezium"),
        (debezium_message("x"), "unknown op x"),
        (debezium_message("c"), "no row after"),
        (debezium_message("u", {"id": 1}), "no row after"),
        (debezium_message("c", after=[1]), "no row after"),
        (
            '{"op": "c", "after": {"id": 1, "id": 2}, "source": {"db": "d", "table": "t"}}',
            "no row after",
        ),
        (debezium_message("d"), "neither a row before nor a key"),
        (
            debezium_message("u", {"id": 1}, {"id": 1, "s": UNAVAILABLE}),
            "column s: its value is unavailable, and so is the row before",
        ),
        ('{"op": "c", "after": {"id": 1}}', "no table named in its source"),
        (debezium_message("c", after={"s": "\ufdd0"}), "it holds U+FDD0, which is no character"),
        (json.dumps({"s": "\ufdd0"}, ensure_ascii=False), "it holds U+FDD0, which is no character"),
    ],
)
def test_what_is_no_envelope_is_broken_and_says_why(message: str, reason: str) -> None:
    """With the message as it came."""
    found = debezium_events(pa.array([message]))

    assert [(r["reason"], r["message"]) for r in found.broken.to_pylist()] == [(reason, message)]
    assert found.events.num_rows == found.ignored == 0


def test_messages_that_say_nothing_about_rows_are_counted() -> None:
    """Tombstones, heartbeats, marks of transactions, changes of schemas, empty payloads."""
    found = debezium_events(
        pa.array(
            [
                None,
                '{"ts_ms": 5}',
                '{"payload": {"status": "BEGIN", "id": "7"}}',
                '{"source": {}, "ddl": "ALTER TABLE t", "tableChanges": []}',
                '{"schema": null, "payload": null}',
                debezium_message("m"),
            ]
        )
    )

    assert found.ignored == 6
    assert found.events.num_rows == found.broken.num_rows == 0


_NAMES = st.text('"\\:5.a', max_size=4)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('"\\:,[]{}15.e-n \n\u00e9'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(_NAMES, _VALUES, max_size=4), max_size=20))
def test_any_row_of_debezium_is_read_as_it_was_written(rows: list[dict[str, Any]]) -> None:
    """Texts are what they say; all else is the JSON that the message has."""
    found = debezium_events(
        pa.array([debezium_message("c", after=row) for row in rows], pa.string())
    )

    assert [event[2] for event in shown(found)] == [
        {
            name: value
            if value is None or isinstance(value, str)
            else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
            for name, value in row.items()
        }
        for row in rows
    ]


def test_logical_types_of_debezium() -> None:
    """Each has the type that holds it, and the way it is written."""
    shape = [
        {"field": "d", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal",
         "parameters": {"scale": "2", "connect.decimal.precision": "9"}},
        {"field": "t", "type": "int64", "name": "io.debezium.time.NanoTimestamp"},
        {"field": "z", "type": "string", "name": "io.debezium.time.ZonedTimestamp"},
        {"field": "c", "type": "int32", "name": "org.apache.kafka.connect.data.Date"},
        {"field": "m", "type": "int64", "name": "io.debezium.time.MicroTime"},
        {"field": "b", "type": "bytes"},
        {"field": "j", "type": "string", "name": "io.debezium.data.Json"},
        {"field": "v", "type": "struct", "name": "io.debezium.data.VariableScaleDecimal"},
    ]  # fmt: skip

    assert [(c.type, c.decoding.encoding) for c in debezium.columns_of(json.dumps(shape))] == [
        (pa.decimal128(9, 2), Encoding.UNSCALED),
        (pa.timestamp("us"), Encoding.NANOSECONDS),
        (pa.timestamp("us", "UTC"), Encoding.TEXT),
        (pa.date32(), Encoding.DAYS),
        (pa.string(), Encoding.TIME_MICROSECONDS),
        (pa.binary(), Encoding.BASE64),
        (pa.string(), Encoding.TEXT),
        (pa.string(), Encoding.TEXT),
    ]


def test_numbers_of_wal2json_keep_their_digits() -> None:
    """Also where a text looks like one; the place is that of the transaction's end."""
    tricky = '"value":12.50'
    lines = [
        '{"action":"B","nextlsn":"1/A"}',
        '{"action":"I","schema":"s","table":"t","columns":['
        '{"name":"n","type":"numeric","value":0.12345678901234567890123,"position":1},'
        '{"name":"value","type":"text","value":' + json.dumps(tricky) + ',"position":2},'
        '{"name":"b","type":"boolean","value":false,"position":3},'
        '{"name":"z","type":"real","value":null,"position":5}]}',
        '{"action":"C","nextlsn":"1/A"}',
        '{"action":"M","content":"hello"}',
    ]

    found = wal2json_events(pa.array(lines))

    values = {"n": "0.12345678901234567890123", "value": tricky, "b": "false", "z": None}
    assert shown(found) == [("s.t", "I", values, None)]
    assert found.events["ends"].to_pylist() == [2**32 + 10]
    assert (found.ends, found.ignored) == (2**32 + 10, 3)
    columns = wal2json.columns_of(found.events["shape"][0].as_py())
    assert [(column.name, column.position) for column in columns] == [
        ("n", 1), ("value", 2), ("b", 3), ("z", 5),
    ]  # fmt: skip
    assert columns[3] == SourceColumn(name="z", type=pa.float32(), decoding=Decoding(), position=5)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("{", "no JSON object"),
        ("{}", "no action"),
        ('{"action":"Z"}', "unknown action Z"),
        ('{"action":"I","columns":[]}', "no table named"),
        ('{"action":"I","schema":"s","table":"t"}', "no columns"),
        ('{"action":"D","schema":"s","table":"t"}', "no identity: set REPLICA IDENTITY"),
    ],
)
def test_what_is_no_message_of_wal2json_is_broken(message: str, reason: str) -> None:
    """With the reason."""
    (broken,) = wal2json_events(pa.array([message])).broken.to_pylist()

    assert broken["reason"].startswith(reason)


def test_no_messages_are_no_events() -> None:
    """Of the right form all the same."""
    for found in (
        wal2json_events(pa.array([], pa.string())),
        debezium_events(pa.array([], pa.string())),
    ):
        assert found.events.num_rows == found.broken.num_rows == found.ignored == found.ends == 0


@pytest.mark.parametrize("envelope", ["debezium", "json"])
def test_messages_that_several_threads_read_stay_in_order(envelope: str) -> None:
    """Each is an event of its own, at its own place."""
    rows = [{"id": number, "n": number * 0.5} for number in range(9_000)]
    source = {"schema": "public", "table": "t"}
    wrapped = [{"op": "c", "before": None, "after": row, "source": source} for row in rows]
    texts = [json.dumps(each) for each in (wrapped if envelope == "debezium" else rows)]
    topics = pa.array(["public.t"] * len(texts))

    events = listed(envelope_of(envelope).events(pa.array(texts), None, topics)).events

    assert events["seq"].to_pylist() == list(range(9_000))
    assert events["source"].unique().to_pylist() == ["public.t"]
    assert [int(values[0]) for values in events["vals"].to_pylist()] == list(range(9_000))
