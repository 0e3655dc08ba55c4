"""The base store of a pair becomes a plain Iceberg table again, and its change store goes.

Rules:
    - The properties of the pair, its ordering columns and its merge engine go first, if it is as it
      was looked at: from then on nobody opens it as a pair.
    - Who had opened it before may still commit changes. So the change store is moved out of their
      reach, and only then looked at: with a change more than it had, the pair is put together
      again. What is told to be committed is never dropped.
    - Whoever stops in between leaves a plain table, and a change store that no table names.
    - What the stores know of the batches of streams stays with the plain table: a batch that is
      given again once it is adopted must not land twice. So do the places of consumers and of
      windows: none is given again unseen.
    - The plain table says how far its changes had come. Those of an adoption are others, so whoever
      followed the earlier ones finds a number missing.
    - A clone goes on saying whose files it refers to, which its source keeps for it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from pyiceberg.exceptions import NoSuchTableError, TableAlreadyExistsError
from pyiceberg.table import Table
from pyiceberg.table.update import RemovePropertiesUpdate, SetPropertiesUpdate

from arctic.errors import ArcticError, ConflictError
from arctic.iceberg.adoption.commit_as_seen import commit_as_seen
from arctic.iceberg.catalogs.catalog import load_table
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.ownership.clones import check_uncloned
from arctic.iceberg.ownership.folders import delete_own_files
from arctic.iceberg.ownership.left_files import check_none_left
from arctic.iceberg.ownership.published import check_unpublished
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.tables.set_properties import commit_properties
from arctic.iceberg.translate import catalog_errors
from arctic.options import (
    AGGREGATE_FUNCTIONS,
    MERGE_ENGINE,
    ORDERING_COLUMNS,
    SEQUENCE_GROUPS,
)
from arctic.table.property_names import (
    ADOPTED,
    CLONE_OF,
    CONSUMER_PREFIX,
    RELEASED_CHANGES,
    WINDOW_PREFIX,
    is_own,
)
from arctic.table.streams.stream_batch import batches_of

_LASTING = tuple(
    option.name for option in (ORDERING_COLUMNS, MERGE_ENGINE, AGGREGATE_FUNCTIONS, SEQUENCE_GROUPS)
)
_STAYING = (CLONE_OF, CONSUMER_PREFIX, WINDOW_PREFIX)
"""How the names begin of what stays as it is."""


def part_pair(opened: OpenTable) -> None:
    """Make the base store of a pair, as it was opened, a plain table, and drop its change store.

    Raises:
        ConflictError: others committed to it since it was opened; it is a pair as before.
        InvalidInputError: it was published or cloned meanwhile; it is a pair as before.
        StorageError: the catalog cannot be reached; call again. Or it is a plain table, and the
            error says which files of the change store have stayed.
    """
    base, change, name = opened.base, opened.change, opened.table.name
    before = dict(base.properties)
    added = [each for each in before.get(ADOPTED, "").split(",") if each in before]
    # A plain table has no change store that could hold against late rows.
    order = [each for each in before if each.lower() in _LASTING]
    told = batches_of(before, {} if change is None else change.properties)
    if change is not None:
        told[RELEASED_CHANGES] = str(change.last_sequence_number)
    own = [each for each in before if is_own(each) and each not in told]
    own = [each for each in own if not each.startswith(_STAYING)]
    removed = list(dict.fromkeys([*own, *added, *order]))
    updates = RemovePropertiesUpdate(removals=removed), SetPropertiesUpdate(updates=told)
    if not commit_as_seen(base, updates if told else updates[:1], name):
        raise _written_to(name)
    if change is None:
        return
    seen, place = change.metadata.current_snapshot_id, tuple(change.name())
    aside = (*place[:-1], f"{place[-1]}released_{secrets.token_hex(4)}")
    try:
        found = _out_of_reach(change, place, aside)
        if found is None or found.metadata.current_snapshot_id != seen:
            raise _written_to(name)
        check_unpublished(base.catalog, base)
        check_uncloned(base.catalog, [base, change])
    except ArcticError:
        _put_back(base, aside, place, {each: before[each] for each in removed})
        raise
    with catalog_errors(f"drop table {'.'.join(found.name())!r}"):
        base.catalog.drop_table(found.name())
    left = delete_own_files(found)
    check_none_left(f"table {name!r} is a plain table, and its change store is dropped", left)


def _out_of_reach(change: Table, place: tuple[str, ...], aside: tuple[str, ...]) -> Table | None:
    """Give a change store a name that nobody knows, and return it as it is then; None: gone."""
    catalog = change.catalog
    with catalog_errors(f"rename table {'.'.join(place)!r}"):
        try:
            catalog.rename_table(place, aside)
        except NoSuchTableError:
            return None
        except NotImplementedError:
            return refresh(change)  # as sure as a catalog that renames nothing lets anybody be
    return load_table(catalog, aside)


def _put_back(
    base: Table, aside: tuple[str, ...], place: tuple[str, ...], properties: Mapping[str, str]
) -> None:
    name, there = ".".join(base.name()), ".".join(aside)
    with catalog_errors(f"rename table {there!r}"):
        try:
            base.catalog.rename_table(aside, place)
        except TableAlreadyExistsError as error:
            raise ConflictError(
                f"table {name!r} was adopted by others while it was released; changes that came "
                f"meanwhile are in table {there!r}"
            ) from error
        except (NoSuchTableError, NotImplementedError):
            pass  # it was not moved
    commit_properties(
        base.catalog, refresh(base), properties, (), expected={}, subject=f"table {name!r}"
    )


def _written_to(name: str) -> ConflictError:
    return ConflictError(f"table {name!r} was written to while it was released; release it again")
