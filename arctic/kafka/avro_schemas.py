"""Schemas of Avro: how a message is decoded by one, and what Kafka Connect says of its columns."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from arctic.kafka.avro_fields import FlatField, flat_fields

_MOST_DIGITS = 38
"""Of a decimal. Connect writes a precision of 64 where it knows none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroSchema:
    """A schema that messages name."""

    decode: Callable[[io.BytesIO], Any]
    columns: str | None
    """Of its rows, as Connect describes them; None: it has none."""
    fields: tuple[FlatField, ...] | None
    """None: its messages are read one by one."""


def avro_schema(schema: Any, referred: Sequence[Any], row_field: str) -> AvroSchema:
    """Take a schema in.

    Args:
        schema: as the registry has it.
        referred: schemas that it refers to, before whom they need.
        row_field: which field of a message is its row; empty: the message is.

    Raises:
        LookupError: it makes no sense.
    """
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

    return AvroSchema(decode=decode, columns=columns, fields=flat_fields(parsed, names))


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
