"""The history of a table's columns: what each schema changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arctic.scan.explain import counted
from arctic.table.table_description import Column, SchemaVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaStep:
    """One schema, as what is different from the one before."""

    version: SchemaVersion
    changes: tuple[str, ...]


def draw_schemas(versions: Sequence[SchemaVersion]) -> tuple[SchemaStep, ...]:
    """Return the schemas, newest first, each with what it changed."""
    steps = []
    before: tuple[Column, ...] | None = None
    for version in versions:
        changes = () if before is None else tuple(_changes(before, version.columns))
        first = (counted(len(version.columns), "column"),) if before is None else ()
        steps.append(
            SchemaStep(version=version, changes=first or changes or ("no column changed",))
        )
        before = version.columns
    return tuple(reversed(steps))


def _changes(before: Sequence[Column], after: Sequence[Column]) -> Iterator[str]:
    known = {column.field_id: column for column in before}
    for column in after:
        old = known.pop(column.field_id, None)
        if old is None:
            yield f"added {column.name} ({column.type})"
            continue
        if old.name != column.name:
            yield f"renamed {old.name} to {column.name}"
        if old.type != column.type:
            yield f"{column.name}: {old.type} became {column.type}"
        if old.required != column.required:
            yield f"{column.name} became {'required' if column.required else 'optional'}"
        if old.doc != column.doc:
            yield f"{column.name}: comment {column.doc!r}"
    yield from (f"dropped {column.name}" for column in known.values())
