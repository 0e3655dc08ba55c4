"""Which column types can be a primary key: those whose hash every engine computes alike."""

from __future__ import annotations

import re

from arctic.errors import InvalidInputError

HASHABLE = (
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "decimal",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "string",
    "binary",
    "fixed",
)
"""Iceberg type names, without the parameters of ``decimal(p, s)`` and ``fixed[n]``.

A uuid is left out because engines disagree on what they hash; a struct, list or map because
their hash differs from run to run.
"""

_DECIMAL = re.compile(r"decimal\(\s*\d+\s*,\s*(\d+)\s*\)")


def check_key_type(type_text: str, column_name: str) -> None:
    """Refuse a column type that cannot be part of a primary key.

    Raises:
        InvalidInputError: naming the column, its type and the types that can.
    """
    if type_name(type_text) not in HASHABLE:
        raise InvalidInputError(
            f"key column {column_name!r}: type {type_text!r} cannot be part of a primary key; "
            f"expected one of {', '.join(HASHABLE)}"
        )


def type_name(type_text: str) -> str:
    """Return the type without its parameters.

    >>> type_name("decimal(10, 2)"), type_name("fixed[4]"), type_name("list<int>")
    ('decimal', 'fixed', 'list')
    """
    return re.split(r"[(\[<]", type_text, maxsplit=1)[0].strip()


def decimal_scale(type_text: str) -> int:
    """Return the scale of a decimal type, which is part of its hash.

    >>> decimal_scale("decimal(10, 2)")
    2
    """
    match = _DECIMAL.fullmatch(type_text.strip())
    if match is None:
        raise InvalidInputError(f"type {type_text!r}: expected decimal(precision, scale)")
    return int(match.group(1))
