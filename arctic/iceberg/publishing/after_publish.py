"""What a publisher looks at once its snapshot is there: nobody has taken away what it shows.

Rules:
    - Who expires, drops or releases a pair asks for published tables first, and deletes then. A
      table that is published in between is found by neither, so its publisher looks too.
    - A published table of which the pair is gone goes as well.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

from pyiceberg.table import Table

from arctic.errors import ConflictError, NotFoundError
from arctic.iceberg.catalogs.pair import store_of
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.ownership.known_tables import known_tables
from arctic.iceberg.publishing.drop_published import drop_shown
from arctic.iceberg.publishing.published_table import name_in_base
from arctic.iceberg.snapshots.pinned_state import has_expired
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.snapshot import TableSnapshot


def check_still_there(opened: OpenTable, name: str, output: str, state: TableSnapshot) -> None:
    """Refuse a publish whose pair, or the state that it shows, is gone.

    Args:
        opened: the pair, as it was published.
        name: of the published table, which base names afterwards in any case.
        output: how it leaves dead rows out.
        state: that it shows.

    Raises:
        ConflictError: publish again, and be told what became of it.
        NotFoundError: the pair was renamed meanwhile.
        StorageError: the catalog cannot be reached.
    """
    base = copy(opened.base)
    try:
        refresh(base)
        is_pair = store_of(base.properties) is not None
    except NotFoundError:
        if _is_known(base):
            raise
        is_pair = False
    if not is_pair:
        drop_shown(opened.base, name)
        raise ConflictError(f"table {opened.table.name!r} was dropped or released meanwhile")
    name_in_base(replace(opened, base=base), name, output)  # as it is now, or is then
    base_id = state.base_snapshot_id
    try:
        is_gone = base_id is not None and base.metadata.snapshot_by_id(base_id) is None
        is_gone = is_gone or has_expired(opened, replace(state, base_snapshot_id=None))
    except NotFoundError as error:
        raise ConflictError(error.message) from error
    if is_gone:
        raise ConflictError("the state that was shown had expired")


def _is_known(base: Table) -> bool:
    uuid = str(base.metadata.table_uuid)
    return any(table.uuid == uuid for table in known_tables(base.catalog))
