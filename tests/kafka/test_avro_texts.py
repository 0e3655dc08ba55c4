"""Messages in Avro as JSON with what their schemas say of columns, without a broker."""

from __future__ import annotations

import io
import json
import random
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from arctic.cdc import debezium
from arctic.kafka.avro_texts import AvroMessages, AvroTexts

ROW = {
    "type": "record", "name": "Value", "namespace": "shop.public.a",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "n", "type": ["null", "int"], "default": None},
        {"name": "day", "type": {"type": "int", "connect.name": "io.debezium.time.Date"}},
        {"name": "born", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 64,
                                   "scale": 2}},
        {"name": "raw", "type": ["null", "bytes"]},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "share", "type": "double"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}  # fmt: skip
ENVELOPE = {
    "type": "record", "name": "Envelope", "namespace": "shop.public.a",
    "fields": [
        {"name": "before", "type": ["null", ROW], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "op", "type": "string"},
    ],
}  # fmt: skip
VALUES = {
    "id": 2**53 + 1, "n": None, "day": 3, "born": 4, "at": 1_700_000_000_000_001,
    "price": b"\xff\x85", "raw": b"\x00\xff", "kind": "B", "share": float("-inf"), "tags": ["é"],
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Schemas:
    """Schemas by number, each with those that it refers to."""

    known: Mapping[int, tuple[Any, tuple[Any, ...]]]

    def schema(self, number: int) -> tuple[Any, tuple[Any, ...]]:
        """Return one."""
        if number not in self.known:
            raise LookupError(f"schema {number} is not in the registry")
        return self.known[number]


def message(number: int, schema: Any, row: Any) -> bytes:
    """Write a message as serializers do, without what logical types make of values."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(_bare(schema), named_schemas={}), row)
    return b"\x00" + struct.pack(">I", number) + out.getvalue()


def read(texts: AvroTexts, given: Sequence[bytes | None]) -> tuple[list[bytes | None], pa.Array]:
    """Return what messages are, read one by one, and what describes the columns of each."""
    values = pa.chunked_array([pa.array(given, pa.binary())])
    return told(texts, texts.keys(values, pa.chunked_array([pa.nulls(len(given), pa.binary())])))


def told(texts: AvroTexts, found: AvroMessages) -> tuple[list[bytes | None], pa.Array]:
    """Return texts, and shapes in place of their numbers."""
    assert found.rows is None
    codes = pa.array(found.shapes, mask=found.shapes < 0)
    return found.texts.to_pylist(), texts.shapes.take(codes)


def _bare(schema: Any) -> Any:
    return json.loads(json.dumps(schema).replace('"logicalType"', '"was"'))


def test_rows_and_what_is_said_of_their_columns() -> None:
    """Numbers keep their digits, bytes are Base64, columns are those of the writer's schema."""
    texts = AvroTexts(Schemas({1: (ENVELOPE, ()), 2: (ROW, ())}), row_field="after")
    given = [message(1, ENVELOPE, {"after": VALUES, "op": "c"}), b'{"op": "d"}', None]

    found, shapes = read(texts, given)

    told = json.loads(found[0] or b"")
    assert told["after"] == {
        **VALUES, "price": "/4U=", "raw": "AP8=", "share": "-Infinity",
    }  # fmt: skip
    assert found[1:] == given[1:]
    assert shapes.is_valid().to_pylist() == [True, False, False]
    assert {
        column.name: str(column.type) for column in debezium.columns_of(shapes[0].as_py())
    } == {
        "id": "int64", "n": "int32", "day": "date32[day]", "born": "date32[day]",
        "at": "timestamp[us, tz=UTC]", "price": "decimal128(38, 2)", "raw": "binary",
        "kind": "string", "share": "double", "tags": "string",
    }  # fmt: skip
    plain, same = read(AvroTexts(Schemas({2: (ROW, ())}), row_field=""), [message(2, ROW, VALUES)])
    assert json.loads(plain[0] or b"") == told["after"]
    assert same[0] == shapes[0]


def test_a_decimal_of_connects_is_one_without_avros_word_for_it() -> None:
    """Its scale is among its parameters; without one nobody can read it."""
    stored = {"type": "bytes", "connect.name": "org.apache.kafka.connect.data.Decimal"}
    known = {}
    for number, more in enumerate(({"connect.parameters": {"scale": "2"}}, {})):
        fields = [{"name": "price", "type": {**stored, **more}}]
        known[number] = ({"type": "record", "name": "R", "fields": fields}, ())
    texts = AvroTexts(Schemas(known), row_field="")

    found, shapes = read(texts, [message(n, known[n][0], {"price": b"\x01"}) for n in known])

    [price] = debezium.columns_of(shapes[0].as_py())
    assert (str(price.type), price.decoding.scale) == ("decimal128(38, 2)", 2)
    assert (found[1] or b"").startswith(b"no Avro, ")


def test_a_schema_may_refer_to_others() -> None:
    """As the registry has them, each by itself."""
    address = {"type": "record", "name": "Address", "namespace": "x",
               "fields": [{"name": "city", "type": "string"}]}  # fmt: skip
    number = {"name": "id", "type": "int"}
    row = {"type": "record", "name": "R", "fields": [number, {"name": "of", "type": "x.Address"}]}
    whole = {**row, "fields": [number, {"name": "of", "type": address}]}
    texts = AvroTexts(Schemas({7: (row, (address,))}), row_field="")

    found, _ = read(texts, [message(7, whole, {"id": 1, "of": {"city": "Oslo"}})])

    assert found == [b'{"id":1,"of":{"city":"Oslo"}}']


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (b"\x00\x00", "it ends before the number of its schema"),
        (message(9, ROW, VALUES), "schema 9 is not in the registry"),
        (message(2, ROW, VALUES) + b"\x00", "1 bytes are left behind it"),
        (message(2, ROW, VALUES)[:-3], ""),
        (message(3, ROW, VALUES), "its schema makes no sense"),
    ],
    ids=["too short", "unknown schema", "too long", "cut", "no schema"],
)
def test_what_cannot_be_decoded_says_why(broken: bytes, said: str) -> None:
    """It is a text that is no JSON, with all of its bytes."""
    nonsense = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "none.Such"}]}
    texts = AvroTexts(Schemas({2: (ROW, ()), 3: (nonsense, ())}), row_field="")

    found, shapes = read(texts, [broken])

    assert (found[0] or b"").startswith(f"no Avro, {said}".encode())
    assert (found[0] or b"").endswith(broken.hex().encode())
    assert shapes.null_count == 1


def test_damaged_messages_are_never_taken_for_something_else() -> None:
    """Whatever bytes change, the reader goes on."""
    chance = random.Random(3)
    whole = message(2, ROW, VALUES)
    texts = AvroTexts(Schemas({2: (ROW, ())}), row_field="")
    for _ in range(3000):
        damaged = bytearray(whole[: chance.randrange(1, len(whole) + 1)])
        for _ in range(chance.randrange(4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        given = bytes(damaged)
        found = read(texts, [given])[0][0] or b""
        if given.startswith(b"\x00") and not found.startswith(b"no Avro"):
            row = json.loads(found)
            assert set(row) == set(VALUES)


def test_keys_are_read_where_they_tell_the_row() -> None:
    """Of plain rows those of tombstones, whatever the others are."""
    key = {"type": "record", "name": "K", "fields": [{"name": "id", "type": "long"}]}
    texts = AvroTexts(Schemas({4: (key, ())}), row_field="")
    written = message(4, key, {"id": 5})

    keys = pa.chunked_array([[written, written, b"\x00\x01"]])
    found, shapes = told(texts, texts.keys(keys, pa.chunked_array([[None, b"row", b"row"]])))

    assert found == [b'{"id":5}', None, None]
    assert [column.type for column in debezium.columns_of(shapes[0].as_py())] == [pa.int64()]
    assert Decimal(5) == json.loads(found[0] or b"")["id"]
