"""Ending a published view: the table goes, with its own files and with what base says of it."""

from __future__ import annotations

import contextlib

from pyiceberg.exceptions import NoSuchTableError

from arctic.errors import NotFoundError
from arctic.iceberg.catalogs.catalog import load_table
from arctic.iceberg.ownership.folders import delete_own_files
from arctic.iceberg.ownership.published import published_names, shows
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.tables.set_properties import commit_properties
from arctic.iceberg.translate import catalog_errors
from arctic.table.property_names import PUBLISHED_PREFIX


def drop_published(opened: OpenTable, name: str | None) -> tuple[str, ...]:
    """Drop tables that show this one; files of the pair stay.

    Args:
        opened: the pair.
        name: of one of them; None: all.

    Returns:
        The names of those that base named.

    Raises:
        NotFoundError: base names none of this name.
        StorageError: the catalog cannot be reached; call again.
    """
    base, known = opened.base, published_names(opened.base)
    if name is not None and name not in known:
        there = ", ".join(map(repr, known)) or "nothing"
        raise NotFoundError(
            f"table {opened.table.name!r} is not published as {name!r}; it is published as {there}"
        )
    names = known if name is None else (name,)
    for each in names:
        published = load_table(base.catalog, tuple(each.split(".")))
        if published is not None and shows(published, base):
            with catalog_errors(f"drop table {each!r}"), contextlib.suppress(NoSuchTableError):
                base.catalog.drop_table(published.name())
            delete_own_files(published)
        commit_properties(
            base.catalog,
            base,
            {},
            (f"{PUBLISHED_PREFIX}{each}",),
            expected={},
            subject=f"table {opened.table.name!r}",
        )
    return names
