"""Names of tables: how they are parsed, and which ones a new table may have."""

from __future__ import annotations

import re

from arctic.errors import InvalidInputError

CHANGE_SUFFIX = "_change_"
"""The change store of ``users`` is ``users_change_``, in the same namespace."""

METADATA_TABLES = frozenset({"snapshots", "files", "partitions", "nodes", "history", "refs"})
"""Last parts that name a metadata table, as in ``db.users.snapshots``."""

BRANCH_PREFIX = "branch_"
"""Before the name of a branch, where it is the last part of a name; as Iceberg has it."""
_LEAST_PARTS = 2
"""A namespace and a name."""
_NEW_NAME = re.compile(r"[\w-]+")


def parse_identifier(identifier: str) -> tuple[str, ...]:
    """Split ``namespace.table`` or ``a.b.table`` into its parts.

    Raises:
        InvalidInputError: no namespace, or an empty part.
    """
    parts = tuple(part.strip() for part in identifier.split("."))
    if len(parts) < 2 or not all(parts):
        raise InvalidInputError(f"table {identifier!r}: expected 'namespace.table' or 'a.b.table'")
    return parts


def is_branch_name(parts: tuple[str, ...]) -> bool:
    """Say whether a name may be that of a branch, if no table has it.

    >>> is_branch_name(("ns", "t", "branch_audit")), is_branch_name(("ns", "branch_audit"))
    (True, False)
    """
    return len(parts) > _LEAST_PARTS and parts[-1].startswith(BRANCH_PREFIX)


def check_new_name(parts: tuple[str, ...]) -> None:
    """Refuse names that a path, a property or a catalog would turn into something else.

    Raises:
        InvalidInputError: a part with other characters than letters, digits, ``_`` and ``-``; a
            table name that is reserved for change stores or metadata tables.
    """
    name = ".".join(parts)
    for part in parts:
        if _NEW_NAME.fullmatch(part) is None:
            raise InvalidInputError(
                f"table {name!r}: part {part!r}; expected only letters, digits, '_' and '-'"
            )
    if parts[-1].lower().endswith(CHANGE_SUFFIX):
        raise InvalidInputError(
            f"table {name!r}: the ending {CHANGE_SUFFIX!r} is for change stores"
        )
    if parts[-1].lower() in METADATA_TABLES:
        raise InvalidInputError(
            f"table {name!r}: {parts[-1]!r} names a metadata table, so 'x.{parts[-1]}' would be "
            "ambiguous; choose another name"
        )


def change_identifier(base: tuple[str, ...]) -> tuple[str, ...]:
    """Return the identifier of the change store that belongs beside a base store."""
    return (*base[:-1], base[-1] + CHANGE_SUFFIX)
