"""Ending a published view: the table goes, with its own files and with what base says of it.

Rules:
    - Base forgets a name when no table of it shows base: one that was published again meanwhile is
      named again.
"""

from __future__ import annotations

import contextlib

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from arctic.errors import NotFoundError
from arctic.iceberg.catalogs.catalog import load_table
from arctic.iceberg.ownership.folders import delete_own_files
from arctic.iceberg.ownership.left_files import check_none_left
from arctic.iceberg.ownership.published import published_names, shown_as, shows
from arctic.iceberg.publishing.published_table import name_in_base, output_of
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
        The names of those that are gone, and of those that base named without reason.

    Raises:
        NotFoundError: none of this name.
        StorageError: the catalog cannot be reached; call again. Or they are gone, and the error
            says which of their files have stayed.
    """
    base = opened.base
    known = tuple(sorted({*published_names(base), *shown_as(base.catalog, base)}))
    if name is not None and name not in known:
        there = ", ".join(map(repr, known)) or "nothing"
        raise NotFoundError(
            f"table {opened.table.name!r} is not published as {name!r}; it is published as {there}"
        )
    names = known if name is None else (name,)
    left: list[str] = []
    for each in names:
        left += drop_shown(base, each)
        commit_properties(
            base.catalog,
            base,
            {},
            (f"{PUBLISHED_PREFIX}{each}",),
            expected={},
            subject=f"table {opened.table.name!r}",
        )
        again = _shown(base, each)
        if again is not None:
            name_in_base(opened, each, output_of(again))
    gone = ", ".join(map(repr, names))
    check_none_left(f"table {opened.table.name!r} is no longer published as {gone}", left)
    return names


def drop_shown(base: Table, name: str) -> tuple[str, ...]:
    """Drop the table of a name with its own files, if it shows this base store.

    Returns:
        Those that could not be deleted.
    """
    published = _shown(base, name)
    if published is None:
        return ()
    with catalog_errors(f"drop table {name!r}"), contextlib.suppress(NoSuchTableError):
        base.catalog.drop_table(published.name())
    return delete_own_files(published)


def _shown(base: Table, name: str) -> Table | None:
    published = load_table(base.catalog, tuple(name.split(".")))
    return published if published is not None and shows(published, base) else None
