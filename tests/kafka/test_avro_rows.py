"""What is read of Avro by columns is what its texts say, whatever the messages are."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arctic
from arctic.cdc.decode import PLAIN, can_decode
from arctic.cdc.envelopes import envelope_of
from arctic.cdc.events import Events, split_by_shape
from arctic.cdc.json_rows import json_listed
from arctic.cdc.rows.event_rows import TypedRows
from arctic.cdc.rows.image_rows import decoded_texts
from arctic.cdc.rows.packed_messages import Packed
from arctic.cdc.rows.read_events import read_events
from arctic.cdc.rows.stored_values import stored_values
from arctic.cdc.rows.unread_messages import message_table
from arctic.cdc.unread import ReadColumn
from arctic.job.mirror.apply_messages import ApplySettings, apply_messages
from arctic.job.mirror.write_changes import write_here
from arctic.kafka.avro_fields import flat_fields, read_fields
from arctic.kafka.avro_rows import AvroRows
from arctic.kafka.avro_texts import AvroMessages, AvroTexts
from arctic.table.streams.stream_batch import StreamBatch
from tests.kafka.test_avro_texts import Schemas, message

JSON = envelope_of("json")
LOGICAL = {
    "days": {"type": "int", "logicalType": "date"},
    "moment": {"type": "long", "logicalType": "timestamp-micros"},
    "time": {"type": "long", "logicalType": "local-timestamp-millis"},
    "nanos": {"type": "long", "logicalType": "local-timestamp-nanos"},
    "clock": {"type": "int", "logicalType": "time-millis"},
    "price": {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2},
    "exact": {"type": "fixed", "name": "F", "size": 16, "logicalType": "decimal",
              "precision": 38, "scale": 1},
    "raw": "bytes", "whole": "long", "small": "int", "share": "double", "part": "float",
    "is": "boolean", "text": "string", "nothing": "null",
    "kind": {"type": "enum", "name": "K", "symbols": ["A", "B"]},
    "two": {"type": "fixed", "name": "T", "size": 2},
    "wrong": {"type": "int", "logicalType": "decimal", "precision": 8, "scale": 2},
}  # fmt: skip
LONGS = [0, 1, -1, 63, 64, -65, 2**31 - 1, -(2**31), 2**40, 2**62 - 1, 2**62, 2**63 - 1, -(2**63)]
TEXTS = ["", "x", "é", "\0", "\ufdd0", "\\uFDD0", "\n", '"', "NaN", "12", "2024-01-02", "a" * 200]
BYTES = [b"", b"\0", b"\xff", b"\x7f\xff", b"\x80", b"\x05\xf5\xe1\x00", b"\1" * 16, b"\1" * 20]
LIKELY: dict[str, Any] = {
    "days": 3, "moment": 10**15, "time": 10**12, "nanos": 10**18, "clock": 5, "price": b"\x05",
    "exact": b"\0" * 15 + b"\5", "raw": b"\xff", "whole": 7, "small": 7, "share": 1.5, "part": 0.5,
    "is": True, "text": "x", "nothing": None, "kind": "B", "two": b"\0\1",
    "wrong": 7,
}  # fmt: skip
ODD: dict[str, list[Any]] = {
    **dict.fromkeys(("whole", "moment", "time", "nanos", "small", "days", "clock", "wrong"), LONGS),
    "price": BYTES, "raw": BYTES, "text": TEXTS, "is": [False], "kind": ["A"],
    "share": [float("nan"), float("inf"), -0.0, 1e300, 5e-324, 0.1], "two": [b"ab"],
    "part": [float("nan"), -float("inf"), 16777216.0, 2.0**-149],
    "exact": [b"\xff" * 16, b"\x7f" + b"\xff" * 15, b"\x4b" + b"\0" * 15, b"\x4c" + b"\0" * 15],
}  # fmt: skip
INTS = ("small", "days", "clock", "wrong")
TARGETS = [None, pa.int32(), pa.int64(), pa.string(), pa.float32(), pa.float64(), pa.bool_(),
           pa.decimal128(5, 1), pa.decimal128(38, 2), pa.date32(), pa.timestamp("us"),
           pa.timestamp("us", "UTC"), pa.binary(), pa.binary(2)]  # fmt: skip


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """Return a schema of rows with an ``id``; rarely one that is not flat."""
    names = draw(st.lists(st.sampled_from(sorted(LOGICAL)), unique=True, max_size=7))
    fields: list[dict[str, Any]] = [{"name": "id", "type": "long"}]
    for name in names:
        kind = LOGICAL[name]
        if name != "nothing":
            kind = draw(st.sampled_from([kind, ["null", kind], [kind, "null"]]))
        fields.append({"name": name, "type": kind})
    if not draw(st.integers(0, 9)):
        fields.append({"name": "tags", "type": {"type": "array", "items": "string"}})
    return {"type": "record", "name": "R", "fields": fields}


@st.composite
def messages(draw: st.DrawFn, number: int, schema: dict[str, Any]) -> bytes | None:
    """Return a row, mostly what a table expects; or something else."""
    row: dict[str, Any] = {"id": draw(st.integers(0, 99)), "tags": ["é"]}
    for field in schema["fields"][1:]:
        name = field["name"]
        row.setdefault(name, LIKELY.get(name))
        if not draw(st.integers(0, 25)) and name in ODD:
            row[name] = draw(st.sampled_from(ODD[name]))
            if name in INTS:
                row[name] = max(-(2**31), min(2**31 - 1, row[name]))
        if isinstance(field["type"], list) and not draw(st.integers(0, 5)):
            row[name] = None
    whole = message(number, schema, row)
    match draw(st.integers(0, 60)):
        case 0:
            return draw(st.sampled_from([None, b"", b"\0", b"\0\0\0\0\7x", b'{"id":1}', b"\xff"]))
        case 1:
            return whole[: draw(st.integers(0, len(whole)))]
        case 2:
            return whole + b"\0"
        case 3:
            at = draw(st.integers(0, len(whole) - 1))
            return whole[:at] + bytes([draw(st.integers(0, 255))]) + whole[at + 1 :]
    return whole


@st.composite
def batches(draw: st.DrawFn) -> tuple[Schemas, list[bytes | None]]:
    """Return messages of one or two schemas, and these."""
    known = [draw(schemas()) for _ in range(draw(st.integers(1, 2)))]
    each = st.integers(0, len(known) - 1).flatmap(lambda n: messages(n, known[n]))
    return (
        Schemas({number: (schema, ()) for number, schema in enumerate(known)}),
        draw(st.lists(each, max_size=50)),
    )


@settings(max_examples=8)
@given(batches(), st.sampled_from(TARGETS), st.integers(1, 30))
def test_rows_are_read_alike(
    batch: tuple[Schemas, list[bytes | None]], target: pa.DataType | None, piece: int
) -> None:
    """In the types that their schema says, and in any other that the table may have."""
    known, given = batch
    chunks = [pa.array(given[n : n + piece], pa.binary()) for n in range(0, len(given), piece)]
    values = pa.chunked_array(chunks, pa.binary())
    reader = AvroTexts(known, row_field="")
    by_columns = reader.values(values)
    one_by_one = reader.keys(values, pa.chunked_array([pa.nulls(len(values), pa.binary())]))

    assert one_by_one.rows is None
    assert (by_columns.shapes == one_by_one.shapes).all()
    assert seen(by_columns, reader, target) == seen(one_by_one, reader, target)


def seen(read: AvroMessages, reader: AvroTexts, target: pa.DataType | None) -> Any:
    """Return rows and broken messages, in columns of the schema or of one type."""
    count = len(read.texts)
    topics, packed = pa.array(["t"] * count, pa.string()), read.rows
    found = JSON.read(text(read.texts), None, topics, packed)
    assert found.events.num_rows + found.broken.num_rows + found.ignored == count
    shapes = pa.DictionaryArray.from_arrays(
        pa.array(read.shapes, mask=read.shapes < 0), reader.shapes
    )
    events = found.events.set_column(
        found.events.column_names.index("shape"), "shape", shapes.take(found.events["seq"])
    )
    typed = [
        read_events(part, columns_of(shape, target), ["id"], unread=found.unread)
        for shape, part in split_by_shape(events).items()
    ]
    return rows(typed), broken(found, typed)


def text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return bytes as texts."""
    texts = [None if v is None else v.decode(errors="replace") for v in values.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string())])


def columns_of(shape: str | None, target: pa.DataType | None) -> list[ReadColumn]:
    """Return columns of a table."""
    described = JSON.columns_of("[]" if shape is None else shape)
    columns = [ReadColumn(field=pa.field("id", pa.int64(), nullable=False), source="id")]
    for each in described:
        if each.name != "id":
            field = pa.field(each.name, target or each.type)
            columns.append(ReadColumn(field=field, source=each.name, decoding=each.decoding))
    return [*columns, ReadColumn(field=pa.field("x", pa.int32()), source="x", decoding=PLAIN)]


def rows(typed: list[TypedRows]) -> list[str]:
    """Return rows as texts, in which a number that is none equals itself."""
    for part in typed:
        part.rows.validate(full=True)
    return sorted(repr((part.rows.schema, row)) for part in typed for row in part.rows.to_pylist())


def broken(found: Events, typed: list[TypedRows]) -> list[Any]:
    """Return what goes to the quarantine."""
    every = pa.concat_tables([found.broken, *(part.broken for part in typed)])
    return sorted(every.to_pylist(), key=lambda row: row["seq"])


def test_most_rows_are_read_by_columns() -> None:
    """One that is cut, or that JSON might not give back, leaves the others where they are."""
    schema = {"type": "record", "name": "R", "fields": [
        {"name": "id", "type": "long"}, {"name": "text", "type": ["null", "string"]}]}  # fmt: skip
    given = [message(1, schema, {"id": n, "text": "x" if n % 2 else None}) for n in range(100)]
    given[7], given[8] = given[7][:-1], message(1, schema, {"id": 8, "text": "\0"})
    given[9] = given[9][:-1] + b"\xff"
    read = AvroTexts(Schemas({1: (schema, ())}), row_field="").values(pa.chunked_array([given]))

    assert isinstance(read.rows, AvroRows)
    packed: Packed = read.rows
    assert packed.numbers.tolist() == [n for n in range(100) if n not in (7, 8, 9)]
    [image] = packed.images(pa.array(range(97)).to_numpy(), columns_of(None, None))
    assert image.new is not None
    assert image.new["id"].to_pylist() == packed.numbers.tolist()
    assert packed.texts(pa.array([96]).to_numpy()).to_pylist() == ['{"id":99,"text":"x"}']
    assert read.texts.null_count == 97


def test_what_cannot_be_applied_is_in_the_quarantine_as_its_text(tmp_path: Path) -> None:
    """Of a topic without a table, and with a value that its column does not hold."""
    place: dict[str, Any] = {"warehouse": str(tmp_path)}
    schema = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}
    narrow = pa.schema([pa.field("id", pa.decimal128(3, 0), nullable=False)])
    arctic.create_table("m.t", narrow, primary_key=["id"], **place)
    given = [message(1, schema, {"id": n}) for n in (1, 2, 3000)]
    reader = AvroTexts(Schemas({1: (schema, ())}), row_field="")
    read = reader.values(pa.chunked_array([given]))
    asked = ApplySettings(
        envelope=JSON, tables={"t": "m.t"}, quarantine="m.q", place=place,
        batch=StreamBatch(query_id="q", batch_id=1), drops_columns=False,
    )  # fmt: skip
    report = apply_messages(
        asked, text(read.texts), None, write=write_here, topics=pa.array(["t", "other", "t"]),
        packed=read.rows,
    )  # fmt: skip

    assert (report.events, report.quarantined) == (3, 2)
    assert [int(row["id"]) for row in arctic.read("m.t", **place).read_all().to_pylist()] == [1]
    quarantined = arctic.read("m.q", **place).read_all().to_pylist()
    assert {(row["seq"], row["message"], row["reason"]) for row in quarantined} == {
        (1, '{"id":2}', "no table is named for this source"),
        (2, '{"id":3000}', "column id: 3000 is no exact decimal128(3, 0)"),
    }


@pytest.mark.parametrize("name", sorted(LOGICAL))
def test_a_value_is_what_its_text_is(name: str) -> None:
    """In every type that a table may have, or nothing is made of it."""
    fields: list[Any] = [{"name": "id", "type": "long"}, {"name": name, "type": LOGICAL[name]}]
    schema = {"type": "record", "name": "R", "fields": fields}
    values = [LIKELY[name], *ODD.get(name, [])]
    if name in INTS:
        values = [value for value in values if -(2**31) <= value < 2**31]
    reader = AvroTexts(Schemas({1: (schema, ())}), row_field="")
    given = pa.chunked_array(
        [[message(1, schema, {"id": n, name: value}) for n, value in enumerate(values)]]
    )
    texts = reader.keys(given, pa.chunked_array([pa.nulls(len(given), pa.binary())])).texts
    flat = flat_fields(parsed(schema), {})
    assert flat is not None
    [_, array], read = read_fields(given.combine_chunks(), np.arange(len(given)), 5, flat)
    [_, described] = JSON.columns_of(reader.shapes[0].as_py())
    events = json_listed(message_table(text(texts), None, None)).events
    values_of = {
        each["seq"]: dict(zip(each["names"], each["vals"], strict=True))[name]
        for each in events.to_pylist()
    }
    told = pa.array([values_of.get(n) for n in range(len(given))], pa.string())
    columns = [
        ReadColumn(field=pa.field(name, target), source=name, decoding=described.decoding)
        for target in dict.fromkeys([described.type, *TARGETS[1:]])
        if can_decode(target, described.decoding)
    ]
    expected = decoded_texts({f"t{n}": (told, column) for n, column in enumerate(columns)})
    made = 0
    for n, column in enumerate(columns):
        for place, number in enumerate(read.tolist()):
            try:
                found = stored_values(array[place : place + 1], column)
            except pa.ArrowInvalid:
                continue
            made += 1
            if found.type != column.field.type or pa.types.is_string(found.type):
                assert found.equals(told[number : number + 1])
            else:
                assert shown(found) == shown(expected[f"t{n}"][number : number + 1])
    assert (made == 0) == (name == "wrong")


def shown(values: pa.Array) -> str:
    """Return values as text, also those that Python has no value for."""
    if pa.types.is_temporal(values.type):
        values = values.view(pa.int32() if pa.types.is_date32(values.type) else pa.int64())
    return repr((values.type, values.to_pylist()))


def test_damaged_rows_are_never_taken_for_something_else() -> None:
    """What is read by columns is what fastavro reads, to the last byte."""
    chance = random.Random(5)
    fields: list[dict[str, Any]] = [
        {"name": "a", "type": ["null", "string"]},
        {"name": "b", "type": ["long", "null"]},
    ]
    fields += [{"name": name, "type": LOGICAL[name]} for name in LOGICAL if name != "nothing"]
    schema = parsed({"type": "record", "name": "R", "fields": fields})
    whole = message(1, schema, {**LIKELY, "a": "é", "b": None})
    given = []
    for _ in range(6000):
        damaged = bytearray(whole[: chance.choice([len(whole), chance.randrange(5, len(whole))])])
        for _ in range(chance.randrange(3)):
            damaged[chance.randrange(5, len(damaged)) if len(damaged) > 5 else 4] = chance.choice(
                [chance.randrange(256), 0, 1, 2, 127, 128, 255]
            )
        given.append(bytes(damaged) + b"\0" * (not chance.randrange(9)))
    flat = flat_fields(schema, {})
    assert flat is not None
    arrays, read = read_fields(pa.array(given), np.arange(len(given)), 5, flat)

    assert 1000 < len(read) < 4000
    columns = [array.to_pylist() for array in arrays]
    for place, number in enumerate(read.tolist()):
        rest = io.BytesIO(given[number][5:])
        row: Any = fastavro.schemaless_reader(rest, schema, None)
        assert not rest.read()
        found = [column[place] for column in columns]
        assert repr(found) == repr([row[field.name] for field in flat])


def parsed(schema: Any) -> Any:
    """Return a schema as fastavro has it, its values as they are stored."""
    return fastavro.parse_schema(
        json.loads(json.dumps(schema).replace("logicalType", "was")), named_schemas={}
    )
