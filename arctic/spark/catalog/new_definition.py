"""What CREATE TABLE says of a new table, as ``create_table`` takes it.

Rules:
    - The key is a PRIMARY KEY constraint, or else a property; both must say the same.
    - What Spark says in a property of its own and no table of ours has is refused, not forgotten.
    - CLUSTER BY is an order of rows: of one column, or of several that count alike.

Must not know: catalogs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.options.sort_terms import clustered
from arctic.spark.base.catalog_questions import CreateTableQuestion
from arctic.spark.base.protocol import COLUMN
from arctic.spark.base.spark_types import arrow_schema, refuse_collations
from arctic.spark.catalog.described import COMMENT, IS_MANAGED, LOCATION, PROVIDER
from arctic.spark.source import FORMAT

_OPTION = "option."
"""Before what stands in OPTIONS (...), which Spark also gives without it."""
_PIPELINE_KEY = "pipelines.autocdc.keyColumnNames"
"""What Spark's Auto CDC says of a table that it makes for itself."""
_PIPELINE_TYPE = "pipelines.autocdc.scdType"
_KEEPS_HISTORY = "SCD2"
"""A value of it: such a table holds several rows of a key, told apart by a part of a column."""
_HISTORY = frozenset({"__spark_autocdc_metadata", "__START_AT"})
"""Columns of the table in which it keeps the history of a key; the second tells its rows apart."""
REFUSED = {
    LOCATION: "tables lie in the warehouse of their catalog; leave LOCATION out",
    "external": "a table and its files are one; leave EXTERNAL out",
    "collation": "collations of columns are not stored; leave DEFAULT COLLATION out",
}
"""Properties that say what no table of ours has."""
_PROVIDERS = frozenset({FORMAT, "parquet"})
"""The second is what Spark says where a user says nothing, and how rows are stored."""
_CLUSTERED = "cluster_by"
"""What Spark calls a transform that is CLUSTER BY."""
_SAID = frozenset({PROVIDER, IS_MANAGED, "table_type"})
"""Properties of Spark's that say nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDefinition:
    """A table that is wanted."""

    schema: pa.Schema
    primary_key: tuple[str, ...]
    partition_by: tuple[str, ...]
    properties: Mapping[str, str]


def new_definition(asked: CreateTableQuestion) -> NewDefinition:
    """Return what is wanted.

    Raises:
        InvalidInputError: two keys, a constraint that is none, or something that no table has.
        UnsupportedError: a type that no table can hold, or a collation.
    """
    schema = StructType.fromJson(dict(asked.schema))
    refuse_collations(schema)
    key, properties = _key_and_properties(asked.properties)
    declared = _declared_key(asked.constraints)
    if key is not None and declared is not None and key != declared:
        raise InvalidInputError(
            f"PRIMARY KEY {list(declared)} beside table property "
            f"{opt.PRIMARY_KEY.name} = {', '.join(key)!r}; expected one of them"
        )
    wanted = declared or key or ()
    if wanted and _HISTORY.issubset(schema.names) and _HISTORY.isdisjoint(wanted):
        raise InvalidInputError(
            f"primary key {', '.join(wanted)}: Auto CDC keeps history in this table (SCD type 2), "
            "so several rows have it; leave the key out"
        )
    return NewDefinition(
        schema=_commented_schema(schema),
        primary_key=wanted,
        partition_by=tuple(
            _partition_text(transform)
            for transform in asked.partitions
            if transform[0] != _CLUSTERED
        ),
        properties={**properties, **_order(asked.partitions, properties)},
    )


def _order(transforms: Sequence[Sequence[Any]], properties: Mapping[str, str]) -> dict[str, str]:
    """Return the property that says what CLUSTER BY does, where it is said."""
    for name, *columns in transforms:
        if name == _CLUSTERED:
            if opt.SORT_COLUMNS.is_given(properties):
                raise InvalidInputError(
                    f"CLUSTER BY and table property {opt.SORT_COLUMNS.name}: give one of the two"
                )
            return {opt.SORT_COLUMNS.name: str(clustered(each[COLUMN] for each in columns))}
    return {}


def _commented_schema(schema: StructType) -> pa.Schema:
    """Return columns as Arrow has them, with their comments."""
    return pa.schema(
        [
            field.with_metadata({COMMENT: column.metadata[COMMENT]})
            if column.metadata.get(COMMENT)
            else field
            for field, column in zip(arrow_schema(schema), schema.fields, strict=True)
        ]
    )


def _key_and_properties(
    given: Mapping[str, str],
) -> tuple[tuple[str, ...] | None, dict[str, str]]:
    names = {name.lower() for name in opt.PRIMARY_KEY.names}
    keys: dict[str, str] = {}
    kept: dict[str, str] = {}
    for name, text in given.items():
        if name.startswith(_OPTION) and name[len(_OPTION) :] in given:
            continue
        if name in REFUSED:
            raise InvalidInputError(REFUSED[name])
        if name == PROVIDER and text.lower() not in _PROVIDERS:
            raise InvalidInputError(
                f"USING {text}: tables of this catalog are {FORMAT}'s; leave USING out"
            )
        if name.lower() in names:
            keys[name] = text
        elif name not in _SAID:
            kept[name] = text
    if len(set(keys.values())) > 1:
        raise InvalidInputError(
            f"table properties {' and '.join(sorted(keys))} name two keys; expected one of them"
        )
    if not keys and _PIPELINE_KEY in kept and kept.get(_PIPELINE_TYPE) != _KEEPS_HISTORY:
        return tuple(json.loads(kept[_PIPELINE_KEY])), kept
    key = opt.PRIMARY_KEY.value(keys)
    return (None if key is None else tuple(key)), kept


def _declared_key(constraints: Sequence[Mapping[str, Any]]) -> tuple[str, ...] | None:
    key = None
    for constraint in constraints:
        if not constraint["primary_key"]:
            raise InvalidInputError(
                f"{constraint['text']}: nothing would hold rows to it; expected PRIMARY KEY only"
            )
        key = tuple(constraint["primary_key"])
    return key


def _partition_text(transform: Sequence[Any]) -> str:
    """Return a transform as ``create_table`` takes it.

    >>> _partition_text(["bucket", "16", {"column": "id"}]), _partition_text(["identity", "x"])
    ('bucket(16, id)', 'identity(x)')
    """
    name, *arguments = transform
    texts = [each[COLUMN] if isinstance(each, Mapping) else str(each) for each in arguments]
    if len(texts) == 2 and isinstance(arguments[0], Mapping):
        texts.reverse()  # truncate(name, 4) is Spark's order, truncate(4, name) that of Iceberg
    return f"{name}({', '.join(texts)})"
