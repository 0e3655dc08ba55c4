"""Opening a table: recognise the pair, check that its halves fit, describe it.

Rules:
    - Only what a table's properties say counts, never its name.
    - What would be read or written wrongly is refused here, before any planning.
    - The change store is loaded before base, as for a pin: so a table that was just opened can be
      pinned as it is. Which store that is only base can tell, so the usual one is tried, unless the
      table had no key when it was seen last. Where that was wrong, or another store has its place,
      as after a rename, base is loaded once more.

Source: amoro BasicMixedIcebergCatalog.loadTable, KeyedSchemaUpdate @96a4d781a.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import Table

from arctic.errors import FormatError, InternalError, InvalidInputError
from arctic.iceberg.branching.branch_store import BranchStore
from arctic.iceberg.branching.named_branch import (
    audited_store,
    branched_store,
    check_begun,
    named_store,
)
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.catalogs.change_store import (
    had_key,
    is_change_of,
    load_change,
    note_key,
    usual_change,
)
from arctic.iceberg.catalogs.pair import check_buckets
from arctic.iceberg.catalogs.read_only import check_writable
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.tables.check_stores import check_change, check_is_base, check_store, checked_key
from arctic.iceberg.tables.missing_table import existing_store
from arctic.iceberg.tables.schema_sync import in_step
from arctic.iceberg.tables.vended_keys import with_vended_keys
from arctic.iceberg.values.merge_engines import check_required, row_rules
from arctic.iceberg.values.names import change_identifier, is_branch_name, parse_identifier
from arctic.iceberg.values.partitioning import Partitioner, check_partition_fields, partition_fields
from arctic.iceberg.values.schema import arrow_schema, described_columns
from arctic.options import Texts
from arctic.table.table_description import TableDescription

Identity = tuple[str, str | None]
"""The UUID of a table, and the branch on which it is opened; None: on none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTable:
    """A table with its two Iceberg tables; stays where the catalog can be reached."""

    table: TableDescription
    arrow_schema: pa.Schema
    """Table column order, field ids, small types."""
    base: Table
    change: Table | None
    """None: the table has no primary key."""
    schema_id: int
    """Of the base store's schema that ``table`` and ``arrow_schema`` describe."""
    config: CatalogConfig
    opened_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    """In milliseconds since 1970."""
    branch: str | None = None
    """Of the base store, whose head is taken for the newest state; None: it is the table itself."""
    _io: list[TableIO] = field(default_factory=list, init=False, repr=False, compare=False)
    """What ``io`` has put together."""

    def refreshed(self) -> OpenTable:
        """Load both stores as they are now, change first, as for a pin; return this object.

        Raises:
            NotFoundError: the table was dropped, or dropped and created again.
            StorageError: the catalog cannot be reached.
        """
        for store in (self.change, self.base):
            if store is not None:
                refresh(store)
        return self

    def __reduce__(self) -> Any:
        """Refuse to travel: a catalog connection cannot."""
        raise InternalError(
            f"open table {self.table.name!r} cannot be pickled; send its table, io or partitioner"
        )

    @property
    def io(self) -> TableIO:
        """Access to the files of both stores, put together once; pickles."""
        if not self._io:
            self._io.append(self._access())
        return self._io[0]

    @property
    def identity(self) -> Identity:
        """What stays while it is the same table, opened on the same branch."""
        return str(self.base.metadata.table_uuid), self.branch

    @property
    def is_described(self) -> bool:
        """Whether the base store, which may have been refreshed, still has that schema."""
        return bool(self.base.metadata.current_schema_id == self.schema_id)

    @property
    def partitioner(self) -> Partitioner:
        """Partition values and paths; pickles."""
        return Partitioner.of(self.table)

    def summed(self, what: str) -> int | None:
        """Return a number in the newest summaries of both stores; None: one does not say it."""
        told = [summary_number(each, what) for each in (self.base, self.change) if each is not None]
        return None if None in told else sum(number or 0 for number in told)

    def _access(self) -> TableIO:
        if not isinstance(self.base.catalog, RestCatalog):
            return TableIO.of(self.base)
        stores = (self.base,) if self.change is None else (self.base, self.change)
        return with_vended_keys(self.config, stores, self.opened_ms)


def summary_number(store: Table, what: str) -> int | None:
    """Return a number in the summary of a store's snapshot; other engines may not say it."""
    snapshot = store.metadata.current_snapshot()
    if snapshot is None:
        return 0
    told = None if snapshot.summary is None else snapshot.summary[what]
    return int(told) if told is not None and told.isdecimal() else None


def open_table(
    config: CatalogConfig,
    identifier: str,
    *,
    for_writing: bool = False,
    suggests: bool = True,
    takes_branch: bool = False,
) -> OpenTable:
    """Open a table by name.

    Args:
        config: the catalog.
        identifier: ``namespace.table``.
        for_writing: complete a schema change that reached only the base store.
        suggests: where there is none of this name, wait if it is being replaced, and name others.
        takes_branch: ``namespace.table.branch_x`` may be a branch, and a table that is written
            and audited on a branch is opened on the one that the catalog's configuration names.

    Raises:
        InvalidInputError: a name without a namespace, that of a change store, or one of a branch
            where none is taken.
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
    is_keyed = had_key(config, parts)
    place = None if is_keyed is False else change_identifier(parts)
    named = {"for_writing": for_writing, "suggests": suggests, "takes_branch": takes_branch}
    return _open(config, catalog, parts, place, is_new=is_keyed is None, **named)


def reopen(opened: OpenTable, *, for_writing: bool = False) -> OpenTable:
    """Return an open table as it is now, through the same catalog; raises as ``open_table`` does.

    Another table of its name is opened as well: the caller compares.
    """
    catalog, parts = opened.base.catalog, opened.table.identifier
    place = None if opened.change is None else opened.change.name()
    on_branch = opened.branch is not None
    named = {"for_writing": for_writing, "suggests": True, "takes_branch": on_branch}
    return _open(opened.config, catalog, parts, place, is_new=False, **named)


def _open(
    config: CatalogConfig,
    catalog: Catalog,
    parts: tuple[str, ...],
    change_place: tuple[str, ...] | None,
    *,
    is_new: bool,
    for_writing: bool,
    suggests: bool,
    takes_branch: bool,
) -> OpenTable:
    """Load both stores, change first: where it is likely to be, if anywhere."""
    whole = branched_store(catalog, parts) if is_branch_name(parts) else None
    if whole is not None:
        base = named_store(whole, parts, takes_branch=takes_branch, session=config.wap_branch)
        return open_base(config, catalog, parts, base, for_writing=for_writing)
    change = None
    if change_place is not None:
        change = usual_change(catalog, change_place, beside=parts if is_new else None)
    base = existing_store(catalog, parts, suggests=suggests)
    if takes_branch and config.wap_branch is not None:
        base = audited_store(base, config.wap_branch)
    return open_base(config, catalog, parts, base, change=change, for_writing=for_writing)


def open_base(
    config: CatalogConfig,
    catalog: Catalog,
    parts: tuple[str, ...],
    base: Table,
    *,
    change: Table | None = None,
    for_writing: bool = False,
) -> OpenTable:
    """Open the table whose base store was loaded already; raises as ``open_table`` does.

    Args:
        config: the catalog.
        catalog: the same, open.
        parts: the table's name.
        base: its base store; loaded again where its change store is not the one that was given.
        change: what may be its change store, loaded before base.
        for_writing: complete a schema change that reached only the base store.
    """
    name = ".".join(parts)
    branch = base.branch if isinstance(base, BranchStore) else None
    check_is_base(base, parts)
    check_store(base, subject=f"table {name!r}")
    check_required(base.properties, name)
    key = checked_key(base, name)
    if branch is not None and for_writing:
        check_begun(base, name)
    note_key(config, parts, is_keyed=bool(key))
    try:
        check_buckets(base.properties)
    except InvalidInputError as error:
        raise FormatError(f"table {name!r}: {error.message}") from error
    if not key:
        change = None
    elif change is None or not is_change_of(change, base, name):
        change = load_change(catalog, base, name)
        refresh(base)
    if change is not None:
        check_change(catalog, base, change, name)
        change = in_step(catalog, base, change, name=name, for_writing=for_writing)
    check_partition_fields(
        base.spec(), base.schema(), subject=f"table {name!r}: partition field", keyed=bool(key)
    )
    return OpenTable(
        table=describe(parts, base, change, key),
        arrow_schema=arrow_schema(base.schema()),
        base=base,
        change=change,
        schema_id=base.metadata.current_schema_id,
        config=config,
        branch=branch,
    )


def describe(
    parts: tuple[str, ...], base: Table, change: Table | None, key: tuple[str, ...]
) -> TableDescription:
    """Return what stores say of the table that they are.

    Raises:
        ArcticError: ordering columns or a merge engine that a table cannot have.
    """
    properties = Texts(base.properties)
    rules = row_rules(properties, base.schema(), base.spec(), key)
    return TableDescription(
        identifier=parts,
        columns=described_columns(base.schema()),
        primary_key=key,
        ordering_columns=rules.ordering_columns,
        merge_engine=rules.engine,
        fold=rules.fold,
        partition_fields=partition_fields(base.spec()),
        properties=properties,
        base_location=base.location(),
        change_location=None if change is None else change.location(),
    )
