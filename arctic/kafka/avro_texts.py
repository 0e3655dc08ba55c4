"""Messages in Avro as the JSON that Kafka Connect writes for the same rows, and their columns.

Strategy: rows of plain values are read a field of all messages at a time, and stay columns. Others
are decoded by the schema that each message names, message by message in C; from there on they are
read as those of JSON are. What their schema says of the columns goes beside them, in the words of
Connect.

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
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from arctic.columns.buffers import value_bytes, value_offsets
from arctic.kafka.avro_fields import Integers
from arctic.kafka.avro_rows import HEADER, AvroRows
from arctic.kafka.avro_schemas import AvroSchema, avro_schema

Codes = npt.NDArray[np.int32]
_MAGIC = b"\x00"
_NO_AVRO, _NO_SCHEMA = -2, -1
_BROKEN = (ValueError, LookupError, EOFError, TypeError, ArithmeticError, struct.error)
"""What is raised for bytes that are not of a schema, and for what is no schema."""


class Schemas(Protocol):
    """Where schemas are known by number."""

    def schema(self, number: int) -> tuple[Any, tuple[Any, ...]]:
        """Return a schema and those that it refers to; raises a LookupError if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroMessages:
    """What messages of any form come to."""

    texts: pa.ChunkedArray
    """Bytes, with JSON in place of Avro; those of ``rows`` are null."""
    shapes: Codes
    """What describes the columns of each, its number among ``AvroTexts.shapes``; -1: nothing."""
    rows: AvroRows | None
    """Those that are read by columns; None: none is."""


class AvroTexts:
    """Reads messages of a registry's schemas."""

    def __init__(self, schemas: Schemas, *, row_field: str) -> None:
        """Take schemas, and which field of a message is its row; empty: the message is."""
        self._schemas = schemas
        self._row_field = row_field
        self._known: dict[int, AvroSchema] = {}
        self._shapes: dict[str, int] = {}

    @property
    def shapes(self) -> pa.Array:
        """What describes columns, by number."""
        return pa.array(self._shapes, pa.string())

    def values(self, messages: pa.ChunkedArray) -> AvroMessages:
        """Read messages; rows of plain values by columns, if a message is a row."""
        return self._read(messages, by_columns=not self._row_field)

    def keys(self, keys: pa.ChunkedArray, messages: pa.ChunkedArray) -> AvroMessages:
        """Read keys likewise, but as texts; the columns are of those that stand for the message.

        A key is read where nothing else may tell which row is meant. Others may be in any form.
        """
        wanted = keys if self._row_field else pc.if_else(messages.is_null(), keys, None)
        return self._read(wanted, by_columns=False)

    def _read(self, messages: pa.ChunkedArray, *, by_columns: bool) -> AvroMessages:
        missing: dict[int, str] = {}
        rows = AvroRows(text=lambda message: self._text(message, missing)[0])
        texts, shapes = [], [np.empty(0, np.int32)]
        for chunk in messages.chunks:
            schema = _schema_numbers(chunk)
            codes = np.full(len(chunk), -1, np.int32)
            is_left = np.ones(len(chunk), np.bool_)
            for number in np.unique(schema[schema >= 0]).tolist() if by_columns else ():
                known = self._of_or_none(number, missing)
                if known is not None and known.fields is not None:
                    at = rows.read(chunk, np.flatnonzero(schema == number), number, known.fields)
                    codes[at] = self._code(known.columns)
                    is_left[at] = False
            left = chunk if is_left.all() else pc.if_else(pa.array(is_left), chunk, None)
            one_by_one = np.flatnonzero(is_left & (schema != _NO_AVRO))
            texts.append(self._texts(left, one_by_one, codes, missing))
            shapes.append(codes)
            rows.end(len(chunk))
        return AvroMessages(
            texts=pa.chunked_array(texts, pa.binary()),
            shapes=np.concatenate(shapes),
            rows=rows if len(rows.numbers) else None,
        )

    def _code(self, columns: str | None) -> int:
        return -1 if columns is None else self._shapes.setdefault(columns, len(self._shapes))

    def _texts(
        self, messages: pa.Array, at: Integers, codes: Codes, missing: dict[int, str]
    ) -> pa.Array:
        """Return messages with texts for those in Avro, whose columns are noted."""
        if not len(at):
            return messages
        read = [self._text(each, missing) for each in messages.take(pa.array(at)).to_pylist()]
        codes[at] = [self._code(columns) for _, columns in read]
        is_avro = np.zeros(len(messages), np.bool_)
        is_avro[at] = True
        texts = pa.array([text for text, _ in read], pa.binary())
        return pc.replace_with_mask(messages, pa.array(is_avro), texts)

    def _text(self, message: bytes, missing: dict[int, str]) -> tuple[bytes, str | None]:
        try:
            if len(message) < HEADER:
                raise ValueError("it ends before the number of its schema")
            known = self._of(int.from_bytes(message[1:HEADER], "big"), missing)
            rest = io.BytesIO(message[HEADER:])
            row = known.decode(rest)
            left = len(message) - HEADER - rest.tell()
            if left:
                raise ValueError(f"{left} bytes are left behind it")
            return _json(row), known.columns
        except _BROKEN as error:
            said = " ".join(str(error).split()) or type(error).__name__
            return f"no Avro, {said}; hexadecimal: {message.hex()}".encode(), None

    def _of_or_none(self, number: int, missing: dict[int, str]) -> AvroSchema | None:
        try:
            return self._of(number, missing)
        except _BROKEN:
            return None

    def _of(self, number: int, missing: dict[int, str]) -> AvroSchema:
        if number not in self._known:
            if number in missing:
                raise LookupError(missing[number])
            try:
                self._known[number] = avro_schema(*self._schemas.schema(number), self._row_field)
            except LookupError as error:
                missing[number] = str(error)
                raise
        return self._known[number]


def _schema_numbers(messages: pa.Array) -> Integers:
    """Return the number of the schema of each message in Avro, or that it has none."""
    found = np.full(len(messages), _NO_AVRO, np.int64)
    lengths = pc.fill_null(pc.binary_length(messages), 0).to_numpy(zero_copy_only=False)
    first = pc.binary_slice(messages, 0, 1)
    is_avro = pc.fill_null(pc.equal(first, _MAGIC), False).to_numpy(zero_copy_only=False)
    found[is_avro] = _NO_SCHEMA
    is_whole = is_avro & (lengths >= HEADER)
    starts, data = value_offsets(messages)[:-1], value_bytes(messages)
    head = data[starts[is_whole][:, None] + np.arange(1, HEADER)]
    found[is_whole] = head.astype(np.int64) @ (256 ** np.arange(3, -1, -1))
    return found


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
