"""A table in the place of another: made aside, and given its name when it is whole.

Rules:
    - Until then the old table is read and written under its name. Between two renames nobody has
      that name; whoever stops there leaves both tables, under names that say what they are.
    - The files of the old table stay, as those of a table that is dropped do: a reader that is at
      work finishes.
"""

from __future__ import annotations

import re
import secrets

from arctic.errors import ArcticError, NotFoundError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.tables.drop_table import drop_table
from arctic.iceberg.tables.rename_table import rename_table

_ASIDE = re.compile(r".+__(?:staged|replaced)_[0-9a-f]{8}")


def staged_name(identifier: str) -> str:
    """Return a name beside that of a table, for the one that takes its place."""
    return f"{identifier}__staged_{secrets.token_hex(4)}"


def is_aside(name: str) -> bool:
    """Say whether a name is that of a table which takes the place of another, or gave it.

    >>> is_aside("users__staged_0123abcd"), is_aside("users")
    (True, False)
    """
    return _ASIDE.fullmatch(name) is not None


def replace_table(config: CatalogConfig, staged: str, identifier: str) -> None:
    """Give a table the name of another, which is dropped; there may be none.

    Args:
        config: the catalog.
        staged: the table that is whole.
        identifier: ``namespace.table``.

    Raises:
        ArcticError: as ``rename_table``; the old table has its name then.
    """
    aside: str | None = f"{identifier}__replaced_{secrets.token_hex(4)}"
    try:
        rename_table(config, identifier, str(aside))
    except NotFoundError:
        aside = None
    try:
        rename_table(config, staged, identifier)
    except ArcticError:
        if aside is not None:
            rename_table(config, aside, identifier)
        raise
    if aside is not None:
        drop_table(config, aside)
