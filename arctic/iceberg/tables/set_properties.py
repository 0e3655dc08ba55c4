"""Changing the properties of a table: in both stores, base first, or at once where that goes.

Rules:
    - Base is what reads, writes and optimizing go by. Whoever stops between the two commits leaves
      a change store with the old texts, which only other engines look at; the same call again
      finishes it.
    - The table is not opened first: a property that keeps it from being opened can be mended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    RemovePropertiesUpdate,
    SetPropertiesUpdate,
    TableUpdate,
    ValidatableTableRequirement,
)

from arctic.errors import ConflictError, InvalidInputError
from arctic.iceberg.catalogs.catalog import CatalogConfig, open_catalog
from arctic.iceberg.catalogs.change_store import find_change
from arctic.iceberg.catalogs.over_http.at_once import commit_at_once, takes_at_once
from arctic.iceberg.catalogs.pair import store_of
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.catalogs.staged_metadata import TableCommit
from arctic.iceberg.tables.check_stores import check_is_base
from arctic.iceberg.tables.missing_table import existing_store
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.iceberg.tables.user_properties import check_removable, other_spellings, user_properties
from arctic.iceberg.translate import commit_errors
from arctic.iceberg.values.layout.index_columns import check_index
from arctic.iceberg.values.layout.sort_order import check_sort_columns, order_updates, same_order
from arctic.iceberg.values.merge_engines import check_same_engine
from arctic.iceberg.values.named_columns import check_named
from arctic.iceberg.values.names import parse_identifier
from arctic.iceberg.values.ordering import check_lasting
from arctic.iceberg.values.same_schemas import same_schemas
from arctic.retry import SMALL_RACES

_LOST = "{}: other commits won every try; set them again"
_FORMAT_VERSION = "format-version"
"""What a creation may say; Iceberg keeps it elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyChange:
    """What one call changes."""

    wanted: Mapping[str, str] = field(default_factory=dict)
    """Name -> text."""
    removed: tuple[str, ...] = ()
    """Names; one that is not there is no failure, so that a call can be repeated."""


def set_properties(config: CatalogConfig, identifier: str, change: PropertyChange) -> OpenTable:
    """Set and remove properties of both stores, and return the table as it is then.

    Args:
        config: the catalog.
        identifier: ``namespace.table``.
        change: all of it is one commit of each store.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: a property that is not a user's, not known, has no such value, or stays
            as the table was created with it.
        ConflictError: other commits won every try; call again.
        CommitStateUnknownError: the catalog did not answer; call again.
    """
    catalog = open_catalog(config)
    stores, checked = _checked(catalog, identifier, change)
    subject = f"table {identifier!r}"
    if takes_at_once(stores):
        _commit_at_once(catalog, stores, checked, subject)
    else:
        for store in stores:
            commit_properties(
                catalog, store, checked.wanted, checked.removed, expected={}, subject=subject
            )
    return open_table(config, identifier)


def checked_change(
    config: CatalogConfig, identifier: str, change: PropertyChange
) -> PropertyChange:
    """Return a change as ``set_properties`` makes it to base; nothing is changed yet.

    Raises:
        ArcticError: as ``set_properties``, before it commits anything.
    """
    (base, *_), checked = _checked(open_catalog(config), identifier, change)
    wanted = checked.wanted
    gone = [*checked.removed, *other_spellings(wanted, base.properties)]
    gone += other_spellings(checked.removed, base.properties)
    return replace(checked, removed=tuple(dict.fromkeys(gone)))


def _checked(
    catalog: Catalog, identifier: str, change: PropertyChange
) -> tuple[list[Table], PropertyChange]:
    """Return the stores, base first, and the change in the spelling that is kept."""
    wanted = user_properties(change.wanted)
    wanted.pop(_FORMAT_VERSION, None)
    parts = parse_identifier(identifier)
    base = existing_store(catalog, parts)
    check_is_base(base, parts)
    stores = [base, *find_change(catalog, base, name=identifier)]
    check_lasting(base.properties, wanted, change.removed, name=identifier)
    check_same_engine(base.properties, wanted, change.removed, name=identifier)
    present = {name for store in stores for name in store.properties}
    for name in change.removed:
        check_removable(name, present)
        if name.lower() in {each.lower() for each in wanted}:
            raise InvalidInputError(f"table property {name!r} is both set and removed")
    return stores, replace(change, wanted=wanted)


def commit_properties(
    catalog: Catalog,
    store: Table,
    wanted: Mapping[str, str],
    removed: tuple[str, ...],
    *,
    expected: Mapping[str, str | None],
    subject: str,
) -> None:
    """Set and remove properties of one store in one commit, or none if nothing changes.

    Args:
        catalog: holds the store.
        store: as the caller saw it; it is refreshed.
        wanted: name -> text.
        removed: names.
        expected: name -> the text that others must have left alone; None: there is none.
        subject: for messages.

    Raises:
        InvalidInputError: a property that names a column which is not there.
        ConflictError: other commits won every try, or changed what was to be left alone.
        CommitStateUnknownError: the catalog did not answer.
    """
    for retry in SMALL_RACES.tries():
        if retry:  # after the wait: others must have left alone what is there now
            refresh(store)
        changed = _changed(expected, store.properties)
        if changed:
            raise ConflictError(f"{subject}: others changed {changed[0]!r} meanwhile; call again")
        updates = _checked_updates(store, wanted, removed)
        if not updates:
            return
        with commit_errors(f"set properties of {subject}"):
            try:
                required = _requirements(catalog, store, updates, expected)
                catalog.commit_table(store, required, updates)
            except CommitFailedException:
                continue
        refresh(store)
        return
    raise ConflictError(_LOST.format(subject))


def _commit_at_once(
    catalog: Catalog, stores: Sequence[Table], change: PropertyChange, subject: str
) -> None:
    def planned() -> list[TableCommit]:
        found = [
            (store, _checked_updates(refresh(store), change.wanted, change.removed))
            for store in stores
        ]
        return [
            TableCommit(
                table=store,
                requirements=_requirements(catalog, store, updates, {}),
                updates=updates,
            )
            for store, updates in found
            if updates
        ]

    action = f"set properties of {subject}"
    if commit_at_once(stores, planned, policy=SMALL_RACES, action=action) is None:
        raise ConflictError(_LOST.format(subject))


def _checked_updates(
    store: Table, wanted: Mapping[str, str], removed: tuple[str, ...]
) -> tuple[TableUpdate, ...]:
    if store_of(store.properties) == "base":
        # By its columns change is read too; its own may still have to follow.
        check_named(wanted, [column.name for column in store.schema().fields])
        check_sort_columns(wanted, store.schema())
        check_index(wanted, store.schema())
    return _updates(store, wanted, removed)


def _updates(
    store: Table, wanted: Mapping[str, str], removed: tuple[str, ...]
) -> tuple[TableUpdate, ...]:
    updates: tuple[TableUpdate, ...] = ()
    properties = store.properties
    if any(properties.get(name) != text for name, text in wanted.items()):
        updates = (SetPropertiesUpdate(updates=dict(wanted)),)
    gone = [name for name in removed if name in properties]
    gone += other_spellings(wanted, properties)
    gone += [name for name in other_spellings(removed, properties) if name not in gone]
    if gone:
        updates = (*updates, RemovePropertiesUpdate(removals=gone))
    if store_of(properties) == "base":
        after = {name: text for name, text in properties.items() if name not in gone}
        after |= wanted
        updates = (*updates, *order_updates(store, after, store.schema()))
    return updates


def _requirements(
    catalog: Catalog,
    store: Table,
    updates: tuple[TableUpdate, ...],
    expected: Mapping[str, str | None],
) -> tuple[Any, ...]:
    required = (*same_schemas(catalog, store), *same_order(store.metadata, updates))
    if isinstance(catalog, RestCatalog):
        return required
    removals = [
        name
        for update in updates
        if isinstance(update, RemovePropertiesUpdate)
        for name in update.removals
    ]
    return (*required, _StillThere(names=removals, expected=dict(expected)))


def _changed(expected: Mapping[str, str | None], properties: Mapping[str, str]) -> list[str]:
    return [name for name, text in expected.items() if properties.get(name) != text]


class _StillThere(ValidatableTableRequirement):
    """What is to be removed is there, and what is expected was left alone.

    PyIceberg fails over a name that is gone. Services of REST catalogs do not ask; the other
    catalogs check it in this process.
    """

    type: str = "arctic-still-there"
    names: list[str]
    expected: dict[str, str | None]

    def validate(  # type: ignore[override]  # PyIceberg's name hides one of pydantic
        self, base_metadata: TableMetadata | None
    ) -> None:
        """Refuse metadata without one of the properties, or with another text."""
        found = {} if base_metadata is None else base_metadata.properties
        gone = [name for name in self.names if name not in found]
        gone += _changed(self.expected, found)
        if gone:
            raise CommitFailedException(f"Requirement failed: properties {gone} have changed")
