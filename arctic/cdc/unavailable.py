"""What Debezium writes for a value that it did not have, in each type of column.

It is a text, or what a column of another type makes of that text's bytes. Only the text that is
Debezium's default is known; see ``docs/cdc.md``.

Source: debezium UnchangedToastedPlaceholder.
"""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from arctic.cdc.engine import text

UNAVAILABLE = "__debezium_unavailable_value"
_BYTES = UNAVAILABLE.encode()
_DECIMAL_DIGITS = 38


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _texts() -> tuple[str, ...]:
    """Return it as a text, as bytes however they are written, as a UUID."""
    encoded = [base64.b64encode(_BYTES).decode(), base64.urlsafe_b64encode(_BYTES).decode()]
    encoded += [each.rstrip("=") for each in encoded]
    named = uuid.UUID(bytes=hashlib.md5(_BYTES, usedforsecurity=False).digest(), version=3)
    return (UNAVAILABLE, *encoded, _BYTES.hex(), _BYTES.hex().upper(), str(named))


def _arrays() -> tuple[str, ...]:
    """Return it as an array of one such text, or of one number for each of its bytes."""
    unscaled = [base64.b64encode(bytes([byte])).decode() for byte in _BYTES]
    numbers = [
        ",".join(str(Decimal(byte).scaleb(-scale)) for byte in _BYTES)
        for scale in range(_DECIMAL_DIGITS + 1)
    ]
    return (
        *(_compact([each]) for each in _texts()),
        _compact([float(byte) for byte in _BYTES]),
        *(f"[{each}]" for each in numbers),
        _compact(unscaled),
        _compact([{"scale": 0, "value": each} for each in unscaled]),
    )


_FORMS = sorted({*_texts(), *_arrays(), _compact({UNAVAILABLE: UNAVAILABLE})})
_SHORTEST = min(len(form) for form in _FORMS)
_TRUES = _compact([True] * len(_BYTES))


def is_unavailable(value: str) -> str:
    """Return the condition that a value, as text or compact JSON, stands for none."""
    # Most values are shorter, and need not be compared.
    return (
        f"CASE WHEN strlen({value}) >= {_SHORTEST} "
        f"THEN {value} IN ({', '.join(map(text, _FORMS))}) ELSE false END"
    )


def may_be_unavailable(messages: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return which messages may hold such a value: those with its text, or with any array."""
    # All but the text and what is made of it as a whole are arrays.
    return pc.match_substring_regex(messages, r"\[|" + "|".join(_texts()))


def is_doubtful(value: str) -> str:
    """Return the condition that a value is one, or stands for none: an array of truth values."""
    return f"coalesce({value} = {text(_TRUES)}, false)"
