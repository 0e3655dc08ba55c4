"""Opening a table: recognise the pair, check that its halves fit, describe it.

Rules:
    - Only what a table's properties say counts, never its name.
    - What would be read or written wrongly is refused here, before any planning.

Source: amoro BasicMixedIcebergCatalog.loadTable, KeyedSchemaUpdate @96a4d781a.
"""

from __future__ import annotations

import difflib
import time
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from arctic.errors import (
    FormatError,
    InternalError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from arctic.iceberg.catalog import CatalogConfig, load_table, namespaces, open_catalog
from arctic.iceberg.catalog import table_identifiers as identifiers
from arctic.iceberg.change_store import find_change
from arctic.iceberg.names import CHANGE_SUFFIX, parse_identifier
from arctic.iceberg.pair import (
    base_name_of,
    belongs_to,
    change_identifier_of,
    check_buckets,
    primary_key_of,
    store_of,
)
from arctic.iceberg.partitioning import Partitioner, check_partition_fields, partition_fields
from arctic.iceberg.read_only import check_writable
from arctic.iceberg.refresh import refresh
from arctic.iceberg.schema import arrow_schema
from arctic.iceberg.schema_sync import change_lags, complete_change
from arctic.iceberg.sqlite import file_of
from arctic.iceberg.table_io import TableIO
from arctic.table.keyed_table import Column, KeyedTable
from arctic.tree.key_type import check_key_type, type_name

_CREATOR_PATIENCE_SECONDS = 3.0
_CREATOR_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTable:
    """A table with its two Iceberg tables; stays where the catalog can be reached."""

    table: KeyedTable
    arrow_schema: pa.Schema
    """Table column order, field ids, small types."""
    base: Table
    change: Table | None
    """None: the table has no primary key."""
    schema_id: int
    """Of the base store's schema that ``table`` and ``arrow_schema`` describe."""
    config: CatalogConfig

    def __reduce__(self) -> Any:
        """Refuse to travel: a catalog connection cannot."""
        raise InternalError(
            f"open table {self.table.name!r} cannot be pickled; send its table, io or partitioner"
        )

    @property
    def io(self) -> TableIO:
        """Access to the files of both stores; pickles."""
        return TableIO.of(self.base)

    @property
    def is_described(self) -> bool:
        """Whether the base store, which may have been refreshed, still has that schema."""
        return bool(self.base.metadata.current_schema_id == self.schema_id)

    @property
    def partitioner(self) -> Partitioner:
        """Partition values and paths; pickles."""
        return Partitioner.of(self.table)


def open_table(
    config: CatalogConfig, identifier: str, *, for_writing: bool = False, suggests: bool = True
) -> OpenTable:
    """Open a table by name.

    Args:
        config: the catalog.
        identifier: ``namespace.table``.
        for_writing: complete a schema change that reached only the base store.
        suggests: name other tables where there is none of this name.

    Raises:
        InvalidInputError: a name without a namespace, or that of a change store.
        NotFoundError: no such table or warehouse; near names are listed.
        UnsupportedError: an Iceberg table that is not Arctic's, or with contents that this
            version would read or write wrongly.
        FormatError: half of a pair, or halves that do not fit.
        StorageError: the catalog cannot be reached.
    """
    parts = parse_identifier(identifier)
    catalog = open_catalog(config)
    if for_writing:
        check_writable(catalog)
    base = load_table(catalog, parts)
    if base is None:
        raise not_found(catalog, parts, suggests=suggests)
    return open_base(config, catalog, parts, base, for_writing=for_writing)


def open_base(
    config: CatalogConfig,
    catalog: Catalog,
    parts: tuple[str, ...],
    base: Table,
    *,
    for_writing: bool = False,
) -> OpenTable:
    """Open the table whose base store was loaded already; raises as ``open_table`` does."""
    name = ".".join(parts)
    check_is_base(base, parts)
    _check_store(base, subject=f"table {name!r}")
    key = _checked_key(base, name)
    try:
        check_buckets(base.properties)
    except InvalidInputError as error:
        raise FormatError(f"table {name!r}: {error.message}") from error
    change = None
    if key:
        change = _load_change(catalog, base, name)
        change = _in_step(catalog, base, change, name=name, for_writing=for_writing)
    check_partition_fields(
        base.spec(), base.schema(), subject=f"table {name!r}: partition field", keyed=bool(key)
    )
    return OpenTable(
        table=_describe(parts, base, change, key),
        arrow_schema=arrow_schema(base.schema()),
        base=base,
        change=change,
        schema_id=base.metadata.current_schema_id,
        config=config,
    )


def check_is_base(table: Table, parts: tuple[str, ...]) -> None:
    """Refuse an Iceberg table that is not the base store of one of ours.

    Raises:
        InvalidInputError: a change store.
        UnsupportedError: a plain Iceberg table.
    """
    name = ".".join(parts)
    store = store_of(table.properties)
    if store == "change":
        raise InvalidInputError(
            f"table {name!r} is the change store of {base_name_of(parts)!r}; name that table, with "
            "the option store=change to look at its change files"
        )
    if store is None:
        raise UnsupportedError(
            f"table {name!r} is a plain Iceberg table, not one of Arctic's; read it with "
            "format('iceberg') or PyIceberg, or create a table and write its rows there"
        )


def not_found(catalog: Catalog, parts: tuple[str, ...], *, suggests: bool = True) -> NotFoundError:
    """Return the error for a missing table, with the names that come near if they are wanted."""
    try:
        hint = _near(catalog, parts) if suggests else ""
    except (StorageError, NotFoundError):
        # A catalog may let us load a table but not list any.
        hint = ""
    where = file_of(catalog)
    looked = f"; looked{where}" if where else ""
    return NotFoundError(f"table {'.'.join(parts)!r} not found{hint}{looked}")


def _near(catalog: Catalog, parts: tuple[str, ...]) -> str:
    name = ".".join(parts)
    known = [".".join(found) for found in namespaces(catalog)]
    namespace = ".".join(parts[:-1])
    if namespace not in known:
        near = difflib.get_close_matches(namespace, known, n=3) or known[:5]
        there = f"namespaces: {', '.join(near)}" if near else "the catalog is empty"
        return f": no namespace {namespace!r}; {there}"
    tables = [
        ".".join(found)
        for found in identifiers(catalog, parts[:-1])
        if found != parts and not found[-1].endswith(CHANGE_SUFFIX)
    ]
    near = difflib.get_close_matches(name, tables, n=3) or tables[:5]
    return f"; did you mean {', '.join(near)}?" if near else f"; namespace {namespace!r} is empty"


def _check_store(store: Table, *, subject: str) -> None:
    version = store.metadata.format_version
    if version != 2:
        raise UnsupportedError(f"{subject}: Iceberg format version {version}; expected 2")
    if len(store.metadata.partition_specs) != 1:
        raise UnsupportedError(
            f"{subject}: its partition spec was changed, so its files do not all have the same "
            "partition fields; rewrite it into a new table"
        )


def _checked_key(base: Table, name: str) -> tuple[str, ...]:
    key = primary_key_of(base.properties)
    types = {column.name: str(column.field_type) for column in base.schema().columns}
    for column in key:
        if column not in types:
            raise FormatError(
                f"table {name!r}: primary key column {column!r} is none of its columns "
                f"{', '.join(types)}"
            )
        try:
            check_key_type(types[column], column)
        except InvalidInputError as error:
            raise UnsupportedError(f"table {name!r}: {error.message}") from error
        _check_same_hash(base, column, types[column], name)
    return key


def _check_same_hash(base: Table, column: str, now: str, name: str) -> None:
    """Refuse a key whose type was changed to one with another hash: its old rows would be lost.

    A negative int and the same long fall into different nodes, and so do float and double.
    """
    field_id = base.schema().find_field(column).field_id
    for schema in base.metadata.schemas:
        for field in schema.columns:
            then = str(field.field_type)
            if field.field_id == field_id and type_name(then) != type_name(now):
                raise UnsupportedError(
                    f"table {name!r}: key column {column!r} was changed from {then} to {now}, so "
                    "the same key has another hash now and its older rows would not be found; "
                    "write the rows into a new table"
                )


def _load_change(catalog: Catalog, base: Table, name: str) -> Table:
    identifier = change_identifier_of(base.properties, table_name=name)
    subject = f"table {name!r}: change store {'.'.join(identifier)!r}{file_of(catalog)}"
    found = find_change(catalog, base, name=name)
    change = found[0] if found else wait_for_creator(catalog, base, identifier)
    if change is None:
        remedy = (
            "its change files are lost to the catalog; register the change store again"
            if base.metadata.snapshots
            else "its creation was interrupted; create the table again to complete it"
        )
        raise FormatError(f"{subject} does not exist: {remedy}")
    if not belongs_to(change, base):
        raise FormatError(
            f"{subject} is that of an earlier table; drop the table and create it again"
        )
    _check_store(change, subject=subject)
    if not base.spec().compatible_with(change.spec()):
        raise FormatError(f"{subject} has other partition fields than the base store")
    return change


def wait_for_creator(catalog: Catalog, base: Table, identifier: tuple[str, ...]) -> Table | None:
    """Load a change store, and give whoever is creating it the time to finish.

    Returns:
        What stands at ``identifier`` then: the change store, that of an earlier table, or None. A
        base store with snapshots is not being created, so nothing is waited for.
    """
    change = load_table(catalog, identifier)
    deadline = time.monotonic() + (0 if base.metadata.snapshots else _CREATOR_PATIENCE_SECONDS)
    while (change is None or not belongs_to(change, base)) and time.monotonic() < deadline:
        time.sleep(_CREATOR_POLL_SECONDS)
        change = load_table(catalog, identifier)
    return change


def _in_step(
    catalog: Catalog, base: Table, change: Table, *, name: str, for_writing: bool
) -> Table:
    try:
        lags = change_lags(base, change, name=name)
    except FormatError:
        # The stores were loaded one after the other: a schema change may lie in between.
        refresh(base)
        lags = change_lags(base, change, name=name)
    if lags and for_writing:
        return complete_change(catalog, base, change, name=name)
    return change


def _describe(
    parts: tuple[str, ...], base: Table, change: Table | None, key: tuple[str, ...]
) -> KeyedTable:
    return KeyedTable(
        identifier=parts,
        columns=tuple(
            Column(
                field_id=column.field_id,
                name=column.name,
                type=str(column.field_type),
                required=column.required,
                doc=column.doc,
            )
            for column in base.schema().columns
        ),
        primary_key=key,
        partition_fields=partition_fields(base.spec()),
        properties=dict(base.properties),
        base_location=base.location(),
        change_location=None if change is None else change.location(),
        change_identifier=None if change is None else tuple(change.name()),
    )
