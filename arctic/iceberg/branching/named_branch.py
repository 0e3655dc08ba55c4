"""Which branch of a table a call means: one that it names, or that on which its session works.

Rules:
    - ``namespace.table.branch_x`` is branch ``x`` of the table; where it has none, it may be a
      table of that very name.
    - A session that names a branch means it for tables with ``write.wap.enabled`` alone. There it
      reads the table until its first write has made the branch.
    - A table with a key has no branches: its state is a snapshot of each of two stores, which meet
      by order of commits, and a second line of commits to both would have no common order.
"""

from __future__ import annotations

import re
from contextlib import suppress

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType

from arctic.errors import (
    AlreadyExistsError,
    ArcticError,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)
from arctic.iceberg.branching.branch_store import BranchStore
from arctic.iceberg.catalogs.catalog import CatalogConfig, load_table, open_catalog
from arctic.iceberg.catalogs.pair import primary_key_of
from arctic.iceberg.values.names import BRANCH_PREFIX, is_branch_name, parse_identifier

WAP_ENABLED = "write.wap.enabled"
"""Iceberg's property of a table whose writes may be audited on a branch first."""
_NAME = re.compile(r"[\w-]+")


def names_branch(config: CatalogConfig, identifier: str) -> bool:
    """Say whether a name means a branch: its table is there, and none of this very name.

    Raises:
        StorageError: the catalog cannot be reached.
    """
    parts = parse_identifier(identifier)
    if not is_branch_name(parts):
        return False
    try:
        return branched_store(open_catalog(config), parts) is not None
    except NotFoundError:
        return False  # there is no warehouse yet


def branched_store(catalog: Catalog, parts: tuple[str, ...]) -> Table | None:
    """Return the store of the table of which a name means a branch; None: it means none."""
    store = load_table(catalog, parts[:-1])
    if store is None or has_branch(store, parts):
        return store
    # Some catalogs refuse to look into a namespace that has the name of a table.
    with suppress(ArcticError):
        if load_table(catalog, parts) is not None:
            return None
    return store


def named_store(
    store: Table, parts: tuple[str, ...], *, takes_branch: bool, session: str | None
) -> Table:
    """Return a store at the branch that a name means.

    Args:
        store: that of the table.
        parts: the name, the branch last.
        takes_branch: whether what is asked for can be done on a branch.
        session: the branch that a session works on; None: on none.

    Raises:
        InvalidInputError: a branch where none is taken, or beside the session's.
        NotFoundError: the table has no such branch.
    """
    name, table, branch = (
        ".".join(parts),
        ".".join(parts[:-1]),
        parts[-1].removeprefix(BRANCH_PREFIX),
    )
    if not takes_branch:
        raise InvalidInputError(
            f"{name!r} is a branch of table {table!r}: its rows are read and written, and all else "
            "is the table's; name the table"
        )
    if session is not None and _is_audited(store):
        raise InvalidInputError(
            f"{name!r} names branch {branch!r}, but this session works on branch {session!r} of "
            f"tables with {WAP_ENABLED}; name the table, or unset spark.wap.branch"
        )
    check_keyless(store, f"table {name!r}")
    return BranchStore(store, branch, may_begin=False)


def audited_store(store: Table, session: str) -> Table:
    """Return a store at the branch of a session, if its table is audited; else as it is."""
    if not _is_audited(store) or session == MAIN_BRANCH:
        return store
    check_branch_name(session)
    check_keyless(store, f"table {'.'.join(store.name())!r} on branch {session!r}")
    return BranchStore(store, session, may_begin=True)


def check_branch_name(name: str) -> str:
    """Refuse a name that could not be told from a version, or that no name of a table could end in.

    Raises:
        InvalidInputError: naming it.
    """
    if _NAME.fullmatch(name) is None or name == MAIN_BRANCH or name.lstrip("+-").isdigit():
        raise InvalidInputError(
            f"branch {name!r}: expected letters, digits, '_' and '-', not a number alone, which is "
            f"a version or snapshot, and not {MAIN_BRANCH!r}, which is the table"
        )
    return name


def has_branch(store: Table, parts: tuple[str, ...]) -> bool:
    """Say whether a store has the branch that a name ends in."""
    ref = store.metadata.refs.get(parts[-1].removeprefix(BRANCH_PREFIX))
    return ref is not None and ref.snapshot_ref_type == SnapshotRefType.BRANCH


def check_no_branch(catalog: Catalog, parts: tuple[str, ...]) -> None:
    """Refuse the name of a new table that means a branch: its rows would go to the branch.

    Raises:
        AlreadyExistsError: there is a branch of this name.
        StorageError: the catalog cannot be reached.
    """
    store = load_table(catalog, parts[:-1]) if is_branch_name(parts) else None
    if store is not None and has_branch(store, parts):
        raise AlreadyExistsError(
            f"table {'.'.join(parts)!r}: that is the name of a branch of table "
            f"{'.'.join(parts[:-1])!r}; choose another name"
        )


def check_begun(base: Table, name: str) -> None:
    """Refuse to write to a branch of a table that has no snapshot.

    Raises:
        UnsupportedError: a first snapshot of the table and one of the branch could have the same
            number, by which deletes find their rows.
    """
    if not base.metadata.snapshots:
        raise UnsupportedError(
            f"table {name!r} has no commit yet that a branch could go on from; write the first "
            "rows to the table itself"
        )


def check_keyless(store: Table, subject: str) -> None:
    """Refuse a table that can have no branch.

    Raises:
        UnsupportedError: it has a key.
    """
    if primary_key_of(store.properties):
        raise UnsupportedError(
            f"{subject}: a table with a primary key has no branches, because its state is a "
            "snapshot of each of two stores; make a clone instead (arctic.clone, CALL "
            "arctic.system.clone), which shares its files, or a tag to keep a state"
        )


def _is_audited(store: Table) -> bool:
    return str(store.properties.get(WAP_ENABLED, "")).lower() == "true"
