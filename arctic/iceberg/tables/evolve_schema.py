"""Changing the columns of a table: both stores get the same schema, base first.

Rules:
    - One call is one schema version: all of its changes are seen together or not at all.
    - Names mean the columns as they are before the call; ids are given once and never again, so
      a column that is dropped and added anew is another column.
    - Base is committed first, then change follows (``schema_sync``). Whoever stops in between
      leaves a table that reads right, because both stores are read by base's schema, and the next
      writer or call completes it. In the other order a reader would refuse the table.
    - Base is never changed while change is still behind: two versions apart nobody reads it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.table import Table
from pyiceberg.table.update import (
    AddSchemaUpdate,
    RemovePropertiesUpdate,
    SetCurrentSchemaUpdate,
    SetPropertiesUpdate,
    TableUpdate,
)
from pyiceberg.types import IcebergType, NestedField

from arctic.columns.promotions import promotes
from arctic.errors import ConflictError, InvalidInputError
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.iceberg.tables.schema_sync import commit_schema
from arctic.iceberg.values.layout.index_columns import check_index
from arctic.iceberg.values.layout.sort_order import check_sort_columns, order_updates
from arctic.iceberg.values.name_mapping import NAME_MAPPING, followed_mapping
from arctic.iceberg.values.named_columns import check_named, check_unnamed, moved, renamed
from arctic.iceberg.values.partitioning import check_new_names
from arctic.iceberg.values.schema import arrow_type, iceberg_schema
from arctic.retry import SMALL_RACES


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChange:
    """What one call changes; everything may be left out."""

    add: Mapping[str, pa.DataType | pa.Field] = field(default_factory=dict)
    """New optional columns, in this order, after the others."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """Old name -> new name."""
    widen: Mapping[str, pa.DataType] = field(default_factory=dict)
    """Column -> int64, float64, or a decimal of more digits and the same scale."""
    drop: tuple[str, ...] = ()
    docs: Mapping[str, str | None] = field(default_factory=dict)
    """Column -> its comment; None takes it away."""
    optional: tuple[str, ...] = ()
    """Columns that take null from now on."""
    places: Mapping[str, str | None] = field(default_factory=dict)
    """Column -> the column after which it is to be, by the names of after the change, one after the
    other; None: it is the first."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Properties of the base store that are set in the same commit."""
    removed_properties: tuple[str, ...] = ()


def evolve_schema(config: CatalogConfig, identifier: str, change: SchemaChange) -> OpenTable:
    """Change the columns of both stores, and return the table as it is then.

    Args:
        config: the catalog.
        identifier: ``namespace.table``.
        change: all of it is one schema version.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: an unknown or taken name, a type that values would not survive, a
            column of the key or of a partition field that is to be dropped or retyped, or one
            that a property names that is to be dropped.
        ConflictError: other schema changes won every try; nothing was changed.
        CommitStateUnknownError: the catalog did not answer; look at the columns.
    """
    return evolve_by(config, identifier, lambda _: change)


def evolve_by(
    config: CatalogConfig, identifier: str, decide: Callable[[OpenTable], SchemaChange]
) -> OpenTable:
    """Change the columns as is decided from what they are then, again in every try.

    Args:
        config: the catalog.
        identifier: ``namespace.table``.
        decide: is given the table; what it raises ends the call.

    Raises:
        ArcticError: as ``evolve_schema``.
    """
    catalog = open_catalog(config)
    for _ in SMALL_RACES.tries():
        # Completes what an earlier call left half done; until then base must not move on.
        opened = open_table(config, identifier, for_writing=True)
        change = decide(opened)
        schema = evolved_schema(opened, change)
        check_named(change.properties, [column.name for column in schema.fields])
        check_sort_columns(change.properties, schema)
        check_index(change.properties, schema)
        updates = _updates(opened.base, schema, change, subject=f"table {identifier!r}")
        if not updates:
            return opened
        if commit_schema(catalog, opened.base, opened.change, updates, name=identifier):
            return open_table(config, identifier, for_writing=True)
    raise ConflictError(
        f"table {identifier!r}: other commits changed its columns during every try; "
        "look at the columns and try again"
    )


def evolved_schema(opened: OpenTable, change: SchemaChange) -> Schema:
    """Return what the table's schema becomes.

    Raises:
        InvalidInputError: as ``evolve_schema``.
    """
    table = opened.table
    subject = f"table {table.name!r}"
    before = opened.base.schema()
    names = [column.name for column in before.columns]
    _check_known(subject, names, change)
    check_unnamed(subject, table.properties, change.drop)
    held = dict.fromkeys(table.primary_key, "is part of its key")
    for column in table.partition_source_columns:
        held.setdefault(column.name, "decides its partitions")
    for name in (*change.drop, *change.widen):
        if name in held:
            raise InvalidInputError(
                f"{subject}: column {name!r} {held[name]}, so it can be neither dropped nor "
                "retyped: rows would be looked for in the wrong place; write into a new table"
            )
    for name in change.optional:
        if name in table.primary_key:
            raise InvalidInputError(
                f"{subject}: column {name!r} is part of its key, which has no null"
            )
    for name in change.rename:
        if name in table.primary_key:
            raise InvalidInputError(
                f"{subject}: column {name!r} is part of its key, whose names are the format's; "
                "write the rows into a new table"
            )
    kept = [
        _changed(subject, column, change)
        for column in before.columns
        if column.name not in change.drop
    ]
    added = _added(change.add, opened.base.metadata.last_column_id)
    result = [*kept, *added]
    _check_names(subject, result)
    _place(subject, result, change.places)
    after = Schema(*result, identifier_field_ids=before.identifier_field_ids)
    check_new_names(opened.base.spec(), before, after, subject=subject)
    return after


def _check_known(subject: str, names: list[str], change: SchemaChange) -> None:
    for what, asked in (
        ("rename", change.rename),
        ("widen", change.widen),
        ("drop", change.drop),
        ("comment on", change.docs),
        ("drop the NOT NULL of", change.optional),
    ):
        for name in asked:
            if name not in names:
                raise InvalidInputError(
                    f"{subject}: {what} {name!r}: no such column; expected one of "
                    f"{', '.join(names)}"
                )
    for name in change.add:
        # Dropped or renamed by the same call, its name is free.
        if name in names and name not in (*change.drop, *change.rename):
            raise InvalidInputError(
                f"{subject}: add {name!r}: it has such a column already; leave it out, or give "
                "widen= to change its type"
            )
    for name in change.drop:
        if name in change.rename or name in change.widen:
            raise InvalidInputError(f"{subject}: column {name!r} is both dropped and changed")
        if change.drop.count(name) > 1:
            raise InvalidInputError(f"{subject}: column {name!r} is dropped twice")


def _changed(subject: str, column: NestedField, change: SchemaChange) -> NestedField:
    update: dict[str, object] = {}
    if column.name in change.rename:
        update["name"] = change.rename[column.name]
    if column.name in change.widen:
        wanted = _iceberg_type(column.name, change.widen[column.name])
        is_same = wanted == column.field_type
        if not is_same and not promotes(arrow_type(column.field_type), arrow_type(wanted)):
            raise InvalidInputError(
                f"{subject}: column {column.name!r} is {column.field_type}, which cannot become "
                f"{wanted}; expected int to long, float to double, or a decimal of more digits "
                "and the same scale"
            )
        update["field_type"] = wanted
    if column.name in change.docs:
        update["doc"] = change.docs[column.name]
    if column.name in change.optional:
        update["required"] = False
    return column.model_copy(update=update) if update else column


def _place(subject: str, fields: list[NestedField], places: Mapping[str, str | None]) -> None:
    """Move columns to their places."""
    for name, after in places.items():
        names = [column.name for column in fields]
        for each in (name, after):
            if (each is not None and each not in names) or name == after:
                raise InvalidInputError(
                    f"{subject}: place {name!r}: no column {each!r} beside it; expected one of "
                    f"{', '.join(names)}"
                )
        column = fields.pop(names.index(name))
        names.remove(name)
        fields.insert(0 if after is None else names.index(str(after)) + 1, column)


def _added(
    columns: Mapping[str, pa.DataType | pa.Field], last_column_id: int
) -> tuple[NestedField, ...]:
    if not columns:
        return ()
    fields = []
    for name, given in columns.items():
        column = given.with_name(name) if isinstance(given, pa.Field) else pa.field(name, given)
        if not column.nullable:
            raise InvalidInputError(
                f"column {name!r}: rows that are there already have no value for it; make it "
                "nullable"
            )
        fields.append(column)
    ids = itertools.count(last_column_id + 1)
    fresh: Schema = assign_fresh_schema_ids(
        iceberg_schema(pa.schema(fields)), next_id=lambda: next(ids)
    )
    return fresh.fields


def _iceberg_type(name: str, arrow: pa.DataType) -> IcebergType:
    return iceberg_schema(pa.schema([(name, arrow)])).fields[0].field_type


def _check_names(subject: str, fields: list[NestedField]) -> None:
    try:
        iceberg_schema(pa.schema([(column.name, pa.int32()) for column in fields]))
    except InvalidInputError as error:
        raise InvalidInputError(f"{subject}: {error.message}") from error
    names = [column.name for column in fields]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"{subject}: there would be two columns {name!r}")


def _updates(
    base: Table, schema: Schema, change: SchemaChange, *, subject: str
) -> tuple[TableUpdate, ...]:
    updates: tuple[TableUpdate, ...] = ()
    if schema != base.schema():
        known = [version for version in base.metadata.schemas if version == schema]
        next_id = max(version.schema_id for version in base.metadata.schemas) + 1
        if known:
            updates = (SetCurrentSchemaUpdate.model_validate({"schema-id": known[0].schema_id}),)
        else:
            updates = (
                AddSchemaUpdate(schema=schema.model_copy(update={"schema_id": next_id})),
                SetCurrentSchemaUpdate.model_validate({"schema-id": -1}),
            )
    properties = base.properties
    of_columns, gone = moved(properties, change.rename, change.drop)
    named = renamed(subject, properties, change.rename)
    if NAME_MAPPING in properties:
        mapping = properties[NAME_MAPPING]
        named[NAME_MAPPING] = followed_mapping(subject, mapping, base.schema(), schema)
    wanted = {**of_columns, **named, **change.properties}
    if any(properties.get(name) != text for name, text in wanted.items()):
        updates = (*updates, SetPropertiesUpdate(updates=wanted))
    asked = dict.fromkeys((*change.removed_properties, *gone))
    removed = [name for name in asked if name in properties and name not in change.properties]
    if removed:
        updates = (*updates, RemovePropertiesUpdate(removals=removed))
    after = {name: text for name, text in properties.items() if name not in removed}
    return (*updates, *order_updates(base, {**after, **wanted}, schema))
