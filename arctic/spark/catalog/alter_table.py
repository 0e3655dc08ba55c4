"""Changes of a table that Spark asks for: of columns and properties, all in one commit of base.

Rules:
    - Columns within columns are not changed.
    - What is not known is refused, with all that came with it.
    - The key of a table stays as it is. A pipeline asks at each run that columns take null that its
      flows do not promise to fill, and says the key anew: for a key that is no change, because
      a null in it is refused when it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from arctic import options as opt
from arctic.errors import InvalidInputError, NotFoundError, UnsupportedError
from arctic.iceberg.tables.evolve_schema import SchemaChange, evolve_schema
from arctic.iceberg.tables.open_table import open_table
from arctic.iceberg.tables.set_properties import (
    PropertyChange,
    checked_change,
    set_properties,
)
from arctic.options.sort_terms import clustered
from arctic.spark.base.catalog_protocol import FailureKind, TableAnswer
from arctic.spark.base.catalog_questions import AlterTableQuestion
from arctic.spark.base.spark_types import arrow_schema, refuse_collations
from arctic.spark.catalog.described import COMMENT, config_of, described, dotted
from arctic.spark.catalog.failures import failures_of
from arctic.spark.catalog.new_definition import REFUSED


@dataclass(slots=True, kw_only=True)
class _Wanted:
    """What one statement changes, gathered."""

    add: dict[str, pa.Field] = field(default_factory=dict)
    rename: dict[str, str] = field(default_factory=dict)
    widen: dict[str, pa.DataType] = field(default_factory=dict)
    drop: list[str] = field(default_factory=list)
    drop_if_exists: list[str] = field(default_factory=list)
    docs: dict[str, str | None] = field(default_factory=dict)
    optional: list[str] = field(default_factory=list)
    places: dict[str, str | None] = field(default_factory=dict)
    set: dict[str, str] = field(default_factory=dict)
    unset: list[str] = field(default_factory=list)

    @property
    def are_columns(self) -> bool:
        """Whether some column changes."""
        columns = (self.add, self.rename, self.widen, self.drop, self.drop_if_exists, self.docs)
        return any((*columns, self.optional, self.places))


def altered(asked: AlterTableQuestion) -> TableAnswer:
    """Change a table."""
    config, name = config_of(asked.catalog), dotted(asked.name)
    wanted = _Wanted()
    for change in asked.changes:
        gather = _KINDS.get(change["kind"])
        if gather is None:
            raise UnsupportedError(f"table {name!r}: {change['kind']} is not known")
        gather(wanted, change)
    dropped = {column.lower() for column in wanted.drop}
    emptied = [column for column in wanted.add if column.lower() in dropped]
    if emptied:
        raise UnsupportedError(
            f"table {name!r}: REPLACE COLUMNS would empty column {emptied[0]!r}; add, drop and "
            "alter columns by their names"
        )
    with failures_of(missing=FailureKind.NO_SUCH_TABLE):
        # Else it stays closed: what keeps it from being opened may be what is mended.
        if asked.of_pipeline or wanted.are_columns:
            opened = open_table(config, name, suggests=False)
        if asked.of_pipeline:
            _leave_key(wanted, opened.table.primary_key)
        _refuse_key(name, [*wanted.set, *wanted.unset])
        properties = PropertyChange(wanted=wanted.set, removed=tuple(wanted.unset))
        if wanted.are_columns:
            there = opened.arrow_schema.names
            of_base = checked_change(config, name, properties)
            evolve_schema(config, name, _schema_change(wanted, there, of_base))
        if wanted.set or wanted.unset:
            # After columns base has them already, and what is left is the change store's copy.
            try:
                set_properties(config, name, properties)
            except NotFoundError:
                open_table(config, name, suggests=False)  # of a branch it says that it is one
                raise
        return described(asked.catalog, asked.name)


def _leave_key(wanted: _Wanted, key: tuple[str, ...]) -> None:
    lowered = {column.lower() for column in key}
    wanted.optional = [column for column in wanted.optional if column.lower() not in lowered]
    said = {name: text for name, text in wanted.set.items() if _is_key(name)}
    if said and opt.PRIMARY_KEY.value(said) == key:
        wanted.set = {name: text for name, text in wanted.set.items() if name not in said}


def _schema_change(wanted: _Wanted, there: list[str], properties: PropertyChange) -> SchemaChange:
    known = {column.lower(): column for column in there}

    def spelt(column: str) -> str:
        return known.get(column.lower(), column)

    dropped = [*wanted.drop, *(each for each in wanted.drop_if_exists if each.lower() in known)]
    return SchemaChange(
        add=wanted.add,
        rename={spelt(old): new for old, new in wanted.rename.items()},
        widen={spelt(column): kind for column, kind in wanted.widen.items()},
        drop=tuple(spelt(column) for column in dropped),
        docs={spelt(column): text for column, text in wanted.docs.items()},
        optional=tuple(spelt(column) for column in wanted.optional),
        places={
            spelt(column): None if after is None else spelt(after)
            for column, after in wanted.places.items()
        },
        properties=properties.wanted,
        removed_properties=properties.removed,
    )


def _add(wanted: _Wanted, change: Mapping[str, Any]) -> None:
    name = _column(change)
    if change["default"] is not None:
        raise UnsupportedError(
            f"column {name!r}: a default value needs Iceberg format version 3; leave it out"
        )
    column = pa.field(name, _type(change["column_type"]), nullable=change["nullable"])
    if change["comment"]:
        column = column.with_metadata({COMMENT: change["comment"]})
    wanted.add[name] = column
    if change["position"] is not None:
        wanted.places[name] = _after(name, change["position"])


def _rename(wanted: _Wanted, change: Mapping[str, Any]) -> None:
    wanted.rename[_column(change)] = change["new_name"]


def _retype(wanted: _Wanted, change: Mapping[str, Any]) -> None:
    name = _column(change)
    wanted.widen[name] = _type(change["column_type"])


def _nullability(wanted: _Wanted, change: Mapping[str, Any]) -> None:
    name = _column(change)
    if not change["nullable"]:
        raise UnsupportedError(
            f"column {name!r}: SET NOT NULL is not known, rows that are there may have null; write "
            "the rows into a new table"
        )
    wanted.optional.append(name)


def _comment(wanted: _Wanted, change: Mapping[str, Any]) -> None:
    wanted.docs[_column(change)] = change["comment"] or None


def _position(wanted: _Wanted, change: Mapping[str, Any]) -> None:
    name = _column(change)
    wanted.places[name] = _after(name, change["position"])


def _delete(wanted: _Wanted, change: Mapping[str, Any]) -> None:
    (wanted.drop_if_exists if change["if_exists"] else wanted.drop).append(_column(change))


def _set(wanted: _Wanted, change: Mapping[str, Any]) -> None:
    if change["name"] in REFUSED:
        raise UnsupportedError(f"table property {change['name']!r}: {REFUSED[change['name']]}")
    wanted.set[change["name"]] = change["value"]


def _cluster(wanted: _Wanted, change: Mapping[str, Any]) -> None:
    """Order rows as a table is that is created so; of no column: no more."""
    if change["column"]:
        wanted.set[opt.SORT_COLUMNS.name] = str(clustered(change["column"]))
    else:
        wanted.unset.append(opt.SORT_COLUMNS.name)


def _unset(wanted: _Wanted, change: Mapping[str, Any]) -> None:
    wanted.unset.append(change["name"])


_KINDS: Mapping[str, Callable[[_Wanted, Mapping[str, Any]], None]] = {
    "add_column": _add,
    "rename_column": _rename,
    "update_type": _retype,
    "update_nullability": _nullability,
    "update_comment": _comment,
    "update_position": _position,
    "delete_column": _delete,
    "set_property": _set,
    "remove_property": _unset,
    "cluster_by": _cluster,
}


def _is_key(name: str) -> bool:
    return name.lower() in {each.lower() for each in opt.PRIMARY_KEY.names}


def _refuse_key(table: str, properties: Iterable[str]) -> None:
    for name in filter(_is_key, properties):
        raise UnsupportedError(
            f"table {table!r}: property {name!r}: the key of a table stays; write the rows into a "
            "new table"
        )


def _column(change: Mapping[str, Any]) -> str:
    path = change["column"]
    if len(path) != 1:
        raise UnsupportedError(
            f"column {'.'.join(path)!r}: what is within a column is not changed; change it whole, "
            "in a new column"
        )
    return str(path[0])


def _type(row: Mapping[str, Any]) -> pa.DataType:
    """Return the type of the only column of a row; only a column says its collation."""
    schema = StructType.fromJson(dict(row))
    refuse_collations(schema)
    return arrow_schema(schema).field(0).type


def _after(name: str, position: str) -> str | None:
    """Return the column after which one is to be; None: it is the first."""
    first, _, after = position.partition(" ")
    if first == "FIRST":
        return None
    if first != "AFTER" or not after:
        raise InvalidInputError(f"column {name!r}: position {position!r} is not known")
    return after.strip("`")
