"""Renaming a table: its change store goes first, its own name last.

Strategy, for a table with a key:
    1. Base says where its change store is about to go.
    2. The change store gets its new name.
    3. Base says that this is its place now.
    4. Base gets its new name.

Rules:
    - After every step the table can be read and written under its old name: base names each place
      where its change store may be. A rename that stops half way leaves a table that works, and the
      same call finishes it.
    - Base forgets a place only while nobody can be about to move the change store there: its
      properties change as they were seen, or not at all, and a move that others began is finished
      first. Services of REST catalogs do not compare them: there base is looked at once more before
      the change store moves, and whoever moved it knows its place where base names others.
    - Files stay where they are: a table's folder keeps its first name.

A table takes the place of another at once where its catalog has transactions: base gets its name as
the other table leaves the catalog, and its change store follows as in 1 to 3.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.table import Table

from arctic.errors import (
    AlreadyExistsError,
    ArcticError,
    ConflictError,
    FormatError,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)
from arctic.iceberg.branching.named_branch import check_no_branch
from arctic.iceberg.catalogs.catalog import (
    CatalogConfig,
    create_namespace,
    load_table,
    open_catalog,
)
from arctic.iceberg.catalogs.change_store import find_change
from arctic.iceberg.catalogs.in_database.take_name import take_name
from arctic.iceberg.catalogs.leftover import check_is_leftover
from arctic.iceberg.catalogs.pair import belongs_to, primary_key_of
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.tables.check_stores import check_is_base
from arctic.iceberg.tables.missing_table import existing_store
from arctic.iceberg.tables.open_table import OpenTable, open_table
from arctic.iceberg.tables.set_properties import commit_properties
from arctic.iceberg.translate import catalog_errors
from arctic.iceberg.values.names import change_identifier, check_new_name, parse_identifier
from arctic.retry import SMALL_RACES
from arctic.table.property_names import CHANGE_IDENTIFIER, CHANGE_MOVES_TO

_log = logging.getLogger(__name__)


def rename_table(config: CatalogConfig, identifier: str, new_identifier: str) -> OpenTable:
    """Give a table another name, also in another namespace, and return it.

    Args:
        config: the catalog.
        identifier: ``namespace.table``.
        new_identifier: as it shall be called; the namespace is created if need be.

    Raises:
        NotFoundError: no such table.
        AlreadyExistsError: the new name, or that of its change store, is taken.
        InvalidInputError: a name that a new table cannot have.
        UnsupportedError: a catalog that cannot rename.
        ConflictError: other commits won every try; call again.
        StorageError: the catalog cannot be reached; call again.
    """
    parts, new_parts = parse_identifier(identifier), parse_identifier(new_identifier)
    check_new_name(new_parts)
    if parts == new_parts:
        raise InvalidInputError(f"table {identifier!r}: that is its name already")
    catalog = open_catalog(config)
    base = existing_store(catalog, parts)
    check_is_base(base, parts)
    check_no_branch(catalog, new_parts)
    if load_table(catalog, new_parts) is not None:
        raise _taken(new_parts)
    create_namespace(catalog, new_parts[:-1])
    if primary_key_of(base.properties):
        _move_change(catalog, base, change_identifier(new_parts), name=identifier)
    _rename(catalog, parts, new_parts)
    return open_table(config, new_identifier)


def takes_place_at_once(config: CatalogConfig) -> bool:
    """Say whether a catalog can do that: it is in a database."""
    return isinstance(open_catalog(config), SqlCatalog)


def take_place(new: OpenTable, old: OpenTable) -> None:
    """Give a table the name of another one, which leaves the catalog; its files stay.

    Args:
        new: of a catalog in a database.
        old: of the same catalog.

    Raises:
        ConflictError: somebody has committed to one of them since it was opened.
        StorageError: the catalog cannot be reached.
    """
    catalog, name = old.base.catalog, old.table.name
    assert isinstance(catalog, SqlCatalog)  # as takes_place_at_once says
    gone = [old.base] if old.change is None else [old.base, old.change]
    with catalog_errors(f"put {new.table.name!r} in the place of {name!r}"):
        try:
            take_name(catalog, new.base, gone)
        except CommitFailedException as error:
            raise ConflictError(f"table {name!r}: {error}; run the statement again") from error
    try:
        _settle_place(catalog, old.table.identifier)
    except ArcticError as error:
        _log.warning("the change store of %r keeps another name: %s", name, error.message)


def _settle_place(catalog: Catalog, parts: tuple[str, ...]) -> None:
    """Give the change store of a table, if it has one, the name that follows from the table's."""
    base = existing_store(catalog, parts)
    if primary_key_of(base.properties):
        _move_change(catalog, base, change_identifier(parts), name=".".join(parts))


def _move_change(
    catalog: Catalog, base: Table, new_identifier: tuple[str, ...], *, name: str
) -> None:
    place = _place(catalog, base, name=name)
    moving = base.properties.get(CHANGE_MOVES_TO)
    if moving not in (None, ".".join(place), ".".join(new_identifier)):
        # Whoever moves it may still be at work, and base must name the place where it ends.
        with suppress(AlreadyExistsError):
            _rename(catalog, place, tuple(str(moving).split(".")))
            _settle(catalog, base, name=name)
            place = _place(catalog, base, name=name)
    if place != new_identifier:
        if check_is_leftover(catalog, new_identifier) is not None:
            raise AlreadyExistsError(
                f"table {'.'.join(new_identifier)!r} already exists, left behind by a table that "
                "was dropped; drop that table again, or choose another name"
            )
        there, to = ".".join(place), ".".join(new_identifier)
        _commit(catalog, base, {CHANGE_IDENTIFIER: there, CHANGE_MOVES_TO: to}, (), name=name)
        try:
            _rename(catalog, place, new_identifier)
        except AlreadyExistsError:
            arrived = load_table(catalog, new_identifier)
            # Else it has arrived: a request was sent again whose answer was lost.
            if arrived is None or not belongs_to(arrived, base):
                _commit(catalog, base, {}, (CHANGE_MOVES_TO,), name=name)
                raise
    _settle(catalog, base, name=name, moved_to=new_identifier)


def _place(
    catalog: Catalog, base: Table, *, name: str, moved_to: tuple[str, ...] | None = None
) -> tuple[str, ...]:
    found = find_change(catalog, base, name=name)
    if not found and moved_to is not None:
        moved = load_table(catalog, moved_to)
        found = [moved] if moved is not None and belongs_to(moved, base) else []
    if not found:
        raise FormatError(f"table {name!r}: its change store is missing; open the table to see why")
    return tuple(found[0].name())


def _settle(
    catalog: Catalog, base: Table, *, name: str, moved_to: tuple[str, ...] | None = None
) -> None:
    """Let base say where its change store is, and that it goes nowhere, unless others move it."""
    outrun: ConflictError | None = None
    for attempt in SMALL_RACES.tries():
        if attempt:
            refresh(base)
        there = ".".join(_place(catalog, base, name=name, moved_to=moved_to))
        has_arrived = base.properties.get(CHANGE_MOVES_TO) == there
        removed = (CHANGE_MOVES_TO,) if has_arrived else ()
        try:
            return _commit(catalog, base, {CHANGE_IDENTIFIER: there}, removed, name=name)
        except ConflictError as error:
            outrun = error
    assert outrun is not None  # every try either returned or was outrun
    raise outrun


def _commit(
    catalog: Catalog,
    base: Table,
    wanted: Mapping[str, str],
    removed: tuple[str, ...],
    *,
    name: str,
) -> None:
    """Change properties, if what base says of the place of its change store is as it was seen."""
    seen = {each: base.properties.get(each) for each in (CHANGE_IDENTIFIER, CHANGE_MOVES_TO)}
    commit_properties(catalog, base, wanted, removed, expected=seen, subject=f"table {name!r}")
    is_kept = all(base.properties.get(each) == text for each, text in wanted.items())
    if not is_kept or any(each in base.properties for each in removed):
        raise ConflictError(f"table {name!r}: others rename it as well; look what it is called")


def _rename(catalog: Catalog, old: tuple[str, ...], new: tuple[str, ...]) -> None:
    subject = f"table {'.'.join(old)!r}"
    with catalog_errors(f"rename {subject} to {'.'.join(new)!r}"):
        try:
            catalog.rename_table(old, new)
        except TableAlreadyExistsError as error:
            raise _taken(new) from error
        except NoSuchTableError as error:
            raise NotFoundError(f"{subject} was dropped or renamed meanwhile") from error
        except NoSuchNamespaceError as error:
            # Hive says so too where the name was taken meanwhile.
            if load_table(catalog, new) is not None:
                raise _taken(new) from error
            raise NotFoundError(
                f"{subject}: namespace {'.'.join(new[:-1])!r} was dropped meanwhile; rename again"
            ) from error
        except CommitFailedException as error:
            raise ConflictError(
                f"{subject}: others were committing to it and it was not renamed; rename it again "
                f"({error})"
            ) from error
        except NotImplementedError as error:
            raise UnsupportedError(f"{subject}: its catalog cannot rename tables") from error


def _taken(name: tuple[str, ...]) -> AlreadyExistsError:
    return AlreadyExistsError(f"table {'.'.join(name)!r} already exists; choose another name")
