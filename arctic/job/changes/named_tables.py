"""Drops and renames of tables, and of the consumers by which a view follows its sources.

Rules:
    - A call that stops half way leaves a consumer too many, which keeps changes of its source from
      expiry; it never leaves a view without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from arctic.errors import ArcticError, FormatError, StorageError
from arctic.iceberg.catalogs.catalog import CatalogConfig, load_table, open_catalog
from arctic.iceberg.tables.drop_table import drop_table
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.tables.rename_table import rename_table
from arctic.iceberg.tables.set_properties import commit_properties
from arctic.iceberg.values.names import parse_identifier
from arctic.table.property_names import CONSUMER_PREFIX, VIEW
from arctic.views.view_definition import ViewDefinition, consumer_of


def drop_named(config: CatalogConfig, identifier: str, *, purge: bool = False) -> None:
    """Drop a table, and what it holds of the sources of a view; arguments as for ``drop_table``.

    Raises:
        ArcticError: as ``drop_table``.
        ConflictError: a source was changed by others all the time; the table is dropped then.
    """
    properties = _properties(config, identifier)
    try:
        drop_table(config, identifier, purge=purge)
    except StorageError:
        with suppress(ArcticError):  # what failed first is told
            if load_table(open_catalog(config), parse_identifier(identifier)) is None:
                leave_sources(config, properties, identifier)  # only files of it are left
        raise
    leave_sources(config, properties, identifier)


def leave_sources(config: CatalogConfig, properties: Mapping[str, str], identifier: str) -> None:
    """Let go of what a view held that is gone.

    Args:
        config: the catalog.
        properties: of its base store.
        identifier: the name that it had.

    Raises:
        ConflictError: a source was changed by others all the time.
    """
    for source in _sources(properties, identifier):
        _put(config, source, consumer_of(identifier), None)


def rename_named(config: CatalogConfig, identifier: str, new_identifier: str) -> OpenTable:
    """Rename a table, and what it holds of the sources of a view.

    Raises:
        ArcticError: as ``rename_table``.
        ConflictError: a source was changed by others all the time; call again.
    """
    sources = _sources(_properties(config, identifier), identifier)
    old = consumer_of(identifier)
    for source in sources:
        held = _held(config, source, old)
        if held is not None:
            _put(config, source, consumer_of(new_identifier), held)
    try:
        opened = rename_table(config, identifier, new_identifier)
    except ArcticError:
        for source in sources:
            _put(config, source, consumer_of(new_identifier), None)
        raise
    for source in sources:
        _put(config, source, old, None)
    return opened


def _properties(config: CatalogConfig, identifier: str) -> Mapping[str, str]:
    base = load_table(open_catalog(config), parse_identifier(identifier))
    return {} if base is None else base.properties


def _sources(properties: Mapping[str, str], identifier: str) -> tuple[str, ...]:
    """Return the sources of a view; none of another table, or of one that cannot be read."""
    with suppress(FormatError):
        return ViewDefinition.told(properties, identifier).sources if VIEW in properties else ()
    return ()


def _held(config: CatalogConfig, source: str, consumer: str) -> str | None:
    store = load_table(open_catalog(config), parse_identifier(source))
    return None if store is None else store.properties.get(f"{CONSUMER_PREFIX}{consumer}")


def _put(config: CatalogConfig, source: str, consumer: str, text: str | None) -> None:
    catalog = open_catalog(config)
    store = load_table(catalog, parse_identifier(source))
    if store is None:
        return
    name = f"{CONSUMER_PREFIX}{consumer}"
    commit_properties(
        catalog,
        store,
        {} if text is None else {name: text},
        (name,) if text is None else (),
        expected={},
        subject=f"consumer {consumer!r} of table {source!r}",
    )
