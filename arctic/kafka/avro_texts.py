"""Messages in Avro as the JSON that Kafka Connect writes for the same rows, and their columns.

Strategy: Avro is decoded by the schema that each message names, message by message in C; from
there on rows are read as those of JSON are, whole columns at a time. What their schema says of the
columns goes beside them, in the words of Connect.

Rules:
    - A message that begins with a zero byte is Avro, which no JSON does. All others stay as they
      are, so a topic may change from one to the other.
    - What cannot be decoded to its last byte becomes a text that is no JSON, and says why.

Must not know: Kafka, tables.
"""

from __future__ import annotations

import base64
import io
import json
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

_MAGIC, _HEADER = b"\x00", 5
_BROKEN = (ValueError, LookupError, EOFError, TypeError, ArithmeticError, struct.error)
"""What is raised for bytes that are not of a schema, and for what is no schema."""
_MOST_DIGITS = 38
"""Of a decimal. Connect writes a precision of 64 where it knows none."""


class Schemas(Protocol):
    """Where schemas are known by number."""

    def schema(self, number: int) -> tuple[Any, tuple[Any, ...]]:
        """Return a schema and those that it refers to; raises a LookupError if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A schema that messages name."""

    decode: Callable[[io.BytesIO], Any]
    columns: str | None
    """Of its rows, as Connect describes them; None: it has none."""


class AvroTexts:
    """Reads messages of a registry's schemas."""

    def __init__(self, schemas: Schemas, *, row_field: str) -> None:
        """Take schemas, and which field of a message is its row; empty: the message is."""
        self._schemas = schemas
        self._row_field = row_field
        self._known: dict[int, _Known] = {}

    def values(self, messages: Sequence[bytes | None]) -> tuple[list[bytes | None], pa.Array]:
        """Return messages with JSON in place of Avro, and what describes the columns of each."""
        missing: dict[int, str] = {}
        read = [self._text(message, missing) for message in messages]
        shapes = pa.array([shape for _, shape in read], pa.string())
        return [text for text, _ in read], shapes

    def keys(
        self, keys: Sequence[bytes | None], messages: Sequence[bytes | None]
    ) -> tuple[list[bytes | None], pa.Array]:
        """Return keys likewise, with the columns of those that stand for the whole message.

        A key is read where nothing else may tell which row is meant. Others may be in any form.
        """
        always = bool(self._row_field)
        wanted = [
            key if always or message is None else None
            for key, message in zip(keys, messages, strict=True)
        ]
        return self.values(wanted)

    def _text(
        self, message: bytes | None, missing: dict[int, str]
    ) -> tuple[bytes | None, str | None]:
        if message is None or not message.startswith(_MAGIC):
            return message, None
        try:
            if len(message) < _HEADER:
                raise ValueError("it ends before the number of its schema")
            known = self._of(int.from_bytes(message[1:_HEADER], "big"), missing)
            rest = io.BytesIO(message[_HEADER:])
            row = known.decode(rest)
            left = len(message) - _HEADER - rest.tell()
            if left:
                raise ValueError(f"{left} bytes are left behind it")
            return _json(row), known.columns
        except _BROKEN as error:
            said = " ".join(str(error).split()) or type(error).__name__
            return f"no Avro, {said}; hexadecimal: {message.hex()}".encode(), None

    def _of(self, number: int, missing: dict[int, str]) -> _Known:
        if number not in self._known:
            if number in missing:
                raise LookupError(missing[number])
            try:
                self._known[number] = _known(*self._schemas.schema(number), self._row_field)
            except LookupError as error:
                missing[number] = str(error)
                raise
        return self._known[number]


def _known(schema: Any, referred: Sequence[Any], row_field: str) -> _Known:
    import fastavro  # noqa: PLC0415 - an extra

    names: dict[str, Any] = {}
    try:
        for each in referred:
            fastavro.parse_schema(_plain(each), named_schemas=names)
        parsed = fastavro.parse_schema(_plain(schema), named_schemas=names)
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
        raise LookupError(f"its schema makes no sense ({error})") from error
    known = {name: each for part in (*referred, schema) for name, each in _named(part, "")}
    row = _record(schema, known)
    if row is not None and row_field:
        of = {field["name"]: field["type"] for field in row["fields"]}
        row = _record(of.get(row_field), known)
    columns = None
    if row is not None:
        described = [
            {"field": field["name"], **_described(field["type"], known)} for field in row["fields"]
        ]
        columns = json.dumps(described, separators=(",", ":"))

    def decode(content: io.BytesIO) -> Any:
        return fastavro.schemaless_reader(content, parsed, None)

    return _Known(decode=decode, columns=columns)


def _plain(schema: Any) -> Any:
    """Return a schema whose values are left as they are stored: numbers and bytes."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    left = {name: each for name, each in schema.items() if name != "logicalType"}
    for name in ("type", "items", "values"):
        if name in left:
            left[name] = _plain(left[name])
    if "fields" in left:
        left["fields"] = [{**field, "type": _plain(field["type"])} for field in left["fields"]]
    return left


def _named(schema: Any, space: str) -> list[tuple[str, Any]]:
    """Return the types of a schema that have names, by full name."""
    if isinstance(schema, list):
        return [pair for each in schema for pair in _named(each, space)]
    if not isinstance(schema, dict):
        return []
    found = []
    if "name" in schema:
        name = str(schema["name"])
        space = name.rpartition(".")[0] or str(schema.get("namespace", space))
        schema = {**schema, "namespace": space}
        found.append((f"{space}.{name.rpartition('.')[2]}".lstrip("."), schema))
    inner = [field["type"] for field in schema.get("fields", ())]
    inner += [schema[name] for name in ("type", "items", "values") if name in schema]
    return found + [pair for each in inner for pair in _named(each, space)]


def _resolved(kind: Any, known: dict[str, Any]) -> Any:
    """Return a type that may be null without that, and in place of a name what it names."""
    if isinstance(kind, list):
        others = [each for each in kind if each != "null"]
        kind = others[0] if len(others) == 1 else "union"
    if isinstance(kind, str):
        short = [each for name, each in known.items() if name.rpartition(".")[2] == kind]
        return known.get(kind, short[0] if len(short) == 1 else {"type": kind})
    if isinstance(kind.get("type"), dict | list):
        return _resolved(kind["type"], known)
    return kind


def _record(kind: Any, known: dict[str, Any]) -> Any | None:
    """Return the record that a type is; None: it is none."""
    found = None if kind is None else _resolved(kind, known)
    return found if found is not None and found["type"] == "record" else None


def _described(kind: Any, known: dict[str, Any]) -> dict[str, Any]:
    """Return what Connect says of a type."""
    found = _resolved(kind, known)
    stored, logical = found["type"], found.get("logicalType")
    told = {"type": _STORED.get(stored, stored)}
    if logical == "decimal":
        scale, digits = found.get("scale", 0), min(int(found["precision"]), _MOST_DIGITS)
    elif found.get("connect.name") == _DECIMAL:
        scale, digits = found["connect.parameters"]["scale"], _MOST_DIGITS
    else:
        semantic = found.get("connect.name") or _LOGICAL.get(logical, logical)
        return told if semantic is None else {**told, "name": semantic}
    parameters = {"scale": str(scale), "connect.decimal.precision": str(digits)}
    return {**told, "name": _DECIMAL, "parameters": parameters}


_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_STORED = {"int": "int32", "long": "int64", "fixed": "bytes", "enum": "string"}
_LOGICAL = {
    "date": "org.apache.kafka.connect.data.Date",
    "time-millis": "org.apache.kafka.connect.data.Time",
    "time-micros": "io.debezium.time.MicroTime",
}
"""Others are known by their own names, or are nothing but their stored values."""


def _json(row: Any) -> bytes:
    try:
        return _dumped(row)
    except ValueError:
        return _dumped(_finite(row))


def _dumped(row: Any) -> bytes:
    text = json.dumps(
        row, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_base64
    )
    return text.encode()


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _finite(value: Any) -> Any:
    """Return values with texts for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
    return value
