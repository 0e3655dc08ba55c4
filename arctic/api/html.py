"""What a notebook shows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import pyarrow as pa


def description(
    name: str, schema: pa.Schema, *, primary_key: Sequence[str], partition_by: Sequence[str]
) -> str:
    """Return a table of the columns, below the name, the key and the partitions."""
    rows = "".join(
        f"<tr><td>{escape(field.name)}</td><td>{escape(str(field.type))}</td>"
        f"<td>{_remark(field, primary_key)}</td></tr>"
        for field in schema
    )
    facts = [f"<strong>{escape(name)}</strong>"]
    facts += [f"key: {escape(', '.join(primary_key))}" if primary_key else "no key"]
    facts += [f"partitions: {escape(', '.join(partition_by))}"] if partition_by else []
    return (
        f"<div>{' &middot; '.join(facts)}</div>"
        f"<table><thead><tr><th>column</th><th>type</th><th></th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _remark(field: pa.Field, primary_key: Sequence[str]) -> str:
    if field.name in primary_key:
        return "key"
    return "" if field.nullable else "required"
