"""A table as Spark is told of it: columns, partitions, properties, and what names it.

Must not know: how Spark asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql.types import StructField, StructType

from arctic import options as opt
from arctic.errors import InvalidInputError, NotFoundError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.catalogs.pair import DEFAULT_PROPERTIES
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.ordered_table import why_not_edited
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.scan_job import read_schema
from arctic.job.reference import parse_reference, placed
from arctic.job.write.command_write import trusted_columns
from arctic.options import OPTIONS, Scope, check_known
from arctic.spark.base.catalog_protocol import TableAnswer
from arctic.spark.base.catalog_questions import Transform
from arctic.spark.base.quoted import quoted
from arctic.spark.base.sealed import sealed
from arctic.spark.base.spark_types import spark_schema
from arctic.spark.source import FORMAT
from arctic.table.property_names import is_own

COMMENT, PROVIDER, LOCATION = "comment", "provider", "location"
IS_MANAGED = "is_managed_location"
"""What Spark calls these properties of a table."""
REFUSED_OPTIONS = tuple(
    name.lower()
    for option in OPTIONS
    if Scope.CATALOG in option.scopes
    or (option.scopes & {Scope.CHANGES, Scope.STREAM} and Scope.READ not in option.scopes)
    or option is opt.STORE
    for name in option.names
)
"""Of a read by the table's name, whose columns are those of its rows: other places, changes, and
looks at one store."""
_PLURALS = {"year": "years", "month": "months", "day": "days", "hour": "hours"}
_WIDTH = re.compile(r"(\w+)\[(\d+)\]")


def table_options(catalog: Mapping[str, str], name: Sequence[str]) -> dict[str, str]:
    """Return the options that name a table of a catalog with this configuration.

    Raises:
        InvalidInputError: a setting of the catalog that nobody knows, or a name without a
            namespace.
        NotFoundError: a name that no table can have.
    """
    check_known(catalog, Scope.CATALOG)
    return sealed(placed({**catalog, "path": dotted(name)}))


def dotted(name: Sequence[str]) -> str:
    """Return the name of a table as one text.

    >>> dotted(["shop", "orders"])
    'shop.orders'

    Raises:
        InvalidInputError: a name without a namespace.
        NotFoundError: a name that no table can have: joined, it would be that of another one.
    """
    if len(name) < 2:
        raise InvalidInputError(
            f"table {'.'.join(name)!r} is in no namespace; write catalog.namespace.table"
        )
    if any("." in part for part in name):
        raise NotFoundError(f"table {name[-1]!r} of {list(name[:-1])!r}: a name has no dot")
    return ".".join(name)


def sought_namespace(name: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of a namespace that may be there.

    Raises:
        NotFoundError: none can have this name: joined, it would be that of another one.
    """
    if any("." in part for part in name):
        raise NotFoundError(f"namespace {tuple(name)!r}: a name has no dot")
    return tuple(name)


def config_of(catalog: Mapping[str, str]) -> CatalogConfig:
    """Return the catalog that Spark's configuration means.

    Raises:
        InvalidInputError: a setting that nobody knows, or a bad one.
    """
    check_known(catalog, Scope.CATALOG)
    return CatalogConfig.from_options(catalog)


def described(
    catalog: Mapping[str, str],
    name: Sequence[str],
    *,
    state: Mapping[str, str] | None = None,
    staged: str | None = None,
) -> TableAnswer:
    """Return what Spark is told of a table, or of one of its metadata tables.

    Args:
        catalog: the configuration of the catalog.
        name: namespace parts, then the name.
        state: read options that choose a past state; None: it is the table as it is.
        staged: of a table that is to be settled.

    Raises:
        NotFoundError: no such table.
        ArcticError: as ``open_table``.
    """
    options = {**table_options(catalog, name), **(state or {})}
    reference = parse_reference(options)
    opened = reference.open(suggests=False)
    is_whole = reference.metadata_table is None
    schema = spark_schema(read_schema(opened, AskedRead.of(options)))
    return TableAnswer(
        name=".".join(name),
        options=options,
        schema=(_with_comments(schema, opened) if is_whole else schema).jsonValue(),
        partitions=[_transform(text, column) for text, column in _fields(opened)]
        if is_whole
        else [],
        properties=_shown_properties(opened) if is_whole else {PROVIDER: FORMAT},
        key=opened.table.primary_key if is_whole else (),
        ordering=opened.table.ordering_columns if is_whole else (),
        trusted=trusted_columns(opened.table) if is_whole else (),
        refused_commands=why_not_edited(opened.table) if is_whole else None,
        is_writable=is_whole and not state,
        evolves=opt.SCHEMA_EVOLUTION.value({}, opened.table.properties),
        refused_options=REFUSED_OPTIONS,
        staged=staged,
    )


def _shown_properties(opened: OpenTable) -> dict[str, str]:
    """Return the properties of a table that Spark shows: the user's, its key and its place."""
    table = opened.table
    shown = {
        name: text
        for name, text in table.properties.items()
        if not is_own(name) and DEFAULT_PROPERTIES.get(name) != text
    }
    shown |= {PROVIDER: FORMAT, LOCATION: table.base_location, IS_MANAGED: "true"}
    if table.primary_key:
        shown[opt.PRIMARY_KEY.name] = ", ".join(table.primary_key)
    return shown


def _with_comments(schema: StructType, opened: OpenTable) -> StructType:
    docs = {column.name: column.doc for column in opened.table.columns if column.doc}
    return StructType([_with_comment(field, docs.get(field.name)) for field in schema.fields])


def _with_comment(field: StructField, doc: str | None) -> StructField:
    metadata = {**field.metadata, COMMENT: doc} if doc else field.metadata
    return StructField(field.name, field.dataType, field.nullable, metadata)


def _fields(opened: OpenTable) -> list[tuple[str, str]]:
    names = {column.field_id: column.name for column in opened.table.columns}
    return [(field.transform, names[field.source_id]) for field in opened.table.partition_fields]


def _transform(text: str, column: str) -> Transform:
    """Return Iceberg's text of a transform as Spark names it.

    >>> _transform("bucket[16]", "id"), _transform("day", "at")
    (['bucket', 16, '`id`'], ['days', '`at`'])
    """
    match = _WIDTH.fullmatch(text)
    words: list[Any] = [match[1], int(match[2])] if match else [_PLURALS.get(text, text)]
    return [*words, quoted(column)]
