"""Schema versions of the two stores: base goes first, change follows at most one behind.

Rules:
    - Both stores have the same columns by id, or base is exactly one version ahead: the writer that
      evolved it stopped in between.
    - Versions are compared by their columns. Their numbers agree only until an Iceberg engine
      removes those of one store that nothing refers to.
    - A table in that state is readable, because both stores are read by the base schema.
    - The next writer completes it by giving change base's very schema, ids included.
    - Where the catalog takes both stores in one request, they change together.

Source: amoro KeyedSchemaUpdate.syncSchema @96a4d781a. Differs: a change store that is ahead is
refused, versions that are gone are none, and the schema is copied instead of being derived anew, so
ids cannot drift.
"""

from __future__ import annotations

from copy import copy

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.schema import Schema, index_by_id
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    AddSchemaUpdate,
    RemovePropertiesUpdate,
    SetCurrentSchemaUpdate,
    SetPropertiesUpdate,
    TableUpdate,
)

from arctic.errors import ConflictError, FormatError
from arctic.iceberg.catalogs.asked_twice import may_have_landed
from arctic.iceberg.catalogs.catalog import load_table
from arctic.iceberg.catalogs.over_http.timed_rest import TimedRestCatalog
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.catalogs.staged_metadata import TableCommit, with_updates
from arctic.iceberg.translate import catalog_errors, commit_errors
from arctic.iceberg.values.layout.sort_order import same_order
from arctic.iceberg.values.named_columns import followed
from arctic.iceberg.values.same_schemas import same_schemas
from arctic.retry import SMALL_RACES


def _change_lags(base: Table, change: Table, *, name: str) -> bool:
    """Say whether the change store still has to follow base's last schema change.

    Raises:
        FormatError: any other difference between the two.
    """
    wanted, current = base.schema(), change.schema()
    if wanted == current:
        return False
    known = _same_schema(change, wanted)
    if known == current.schema_id:
        # What the columns do not show, as a comment, is followed where only that is new.
        return _is_one_more(base, change)
    if known is not None:
        # Base went back to an earlier schema, or an id that it never gave is ahead of it.
        lags = change.metadata.last_column_id <= base.metadata.last_column_id
    else:
        lags = _unknown_versions(base, change) == 1
    if lags:
        return True
    base_count, change_count = len(base.metadata.schemas), len(change.metadata.schemas)
    if base_count == change_count:
        raise FormatError(f"table {name!r}: {_difference(wanted, current)}")
    raise FormatError(
        f"table {name!r}: base has {base_count} schema versions, change has {change_count}; "
        "expected the same columns in both, or one more change of them in base"
    )


def _is_one_more(base: Table, change: Table) -> bool:
    return len(base.metadata.schemas) == len(change.metadata.schemas) + 1


def _unknown_versions(base: Table, change: Table) -> int | None:
    """Count the versions of base after change's current one that change does not have.

    Returns:
        None where base has no version with the columns that change has.
    """
    same = [
        version.schema_id
        for version in base.metadata.schemas
        if _nullable_columns(version) == _nullable_columns(change.schema())
    ]
    if not same:
        return None
    later = [version for version in base.metadata.schemas if version.schema_id > max(same)]
    return sum(_same_schema(change, version) is None for version in later)


def commit_schema(
    catalog: Catalog,
    base: Table,
    change: Table | None,
    updates: tuple[TableUpdate, ...],
    *,
    name: str,
) -> bool:
    """Change the columns of base, and at once those of the change store where that goes.

    Returns:
        False where others have committed, or nothing was.

    Raises:
        CommitStateUnknownError: the catalog did not answer, or others were at once faster than who
            looks whether its answer was true.
    """
    required = (*same_schemas(catalog, base), *same_order(base.metadata, updates))
    with commit_errors(f"change the columns of table {name!r}"):
        before, after = base.metadata, copy(base)
        after.metadata = with_updates(before, updates)
        try:
            if (
                isinstance(catalog, TimedRestCatalog)
                and change is not None
                and catalog.commits_several((base, change))
            ):
                follows = _following(after, change)
                catalog.commit_several(
                    (
                        TableCommit(table=base, requirements=required, updates=updates),
                        TableCommit(
                            table=change,
                            requirements=same_schemas(catalog, change),
                            updates=follows,
                        ),
                    )
                )
                return _is_done(before, after.metadata, refresh(base).metadata)
            catalog.commit_table(base, required, updates)
        except CommitFailedException as error:
            if not may_have_landed(catalog, error):
                return False
            return _is_done(before, after.metadata, refresh(base).metadata)
    return True


def _is_done(before: TableMetadata, after: TableMetadata, now: TableMetadata) -> bool:
    """Say whether a store was changed, whatever others have made of it since.

    Who took what has landed for lost would make it twice: two columns would have their names back.
    """
    wanted, known = after.schema(), [each.schema_id for each in before.schemas]
    if wanted == before.schema():
        names = {*before.properties, *after.properties}
        changed = [n for n in names if before.properties.get(n) != after.properties.get(n)]
        return all(now.properties.get(n) == after.properties.get(n) for n in changed)
    came = [each for each in now.schemas if each.schema_id not in known]
    if wanted == now.schema() or wanted in came:
        return True
    if wanted in before.schemas and now.current_schema_id != before.current_schema_id:
        raise CommitStateUnknownException(
            "others changed the columns while the catalog was asked for earlier ones; look at them"
        )
    return False


def _complete_change(catalog: Catalog, base: Table, change: Table, *, name: str) -> Table:
    """Give the change store base's current schema; return the change store as it is then.

    Several processes may do so at once: one of them commits, the others find it done. Refreshes
    ``base`` in place.

    Raises:
        ConflictError: other commits to the change store won every try.
        FormatError: the stores differ in another way by now.
        StorageError: the catalog cannot be reached.
    """
    for retry in SMALL_RACES.tries():
        if retry:  # after the wait: what is committed lies on what is there now
            change = _latest(catalog, base, change, name)
            if not _change_lags(base, change, name=name):
                return change
        updates = _following(base, change)
        with catalog_errors(f"complete the schema of change store of {name!r}"):
            try:
                catalog.commit_table(change, same_schemas(catalog, change), updates)
            except CommitFailedException:
                continue
        change = _latest(catalog, base, change, name)
        if not _change_lags(base, change, name=name):
            return change
    raise ConflictError(f"table {name!r}: other commits kept the change store's schema behind")


def _following(base: Table, change: Table) -> tuple[TableUpdate, ...]:
    """Return what gives a change store that lags the columns of base."""
    updates = _updates(base, change)
    wanted, gone = followed(base.properties, change.properties)
    if wanted:
        updates = (*updates, SetPropertiesUpdate(updates=wanted))
    if gone:
        updates = (*updates, RemovePropertiesUpdate(removals=gone))
    return updates


def _latest(catalog: Catalog, base: Table, change: Table, name: str) -> Table:
    """Return the change store as it is now, and refresh base."""
    latest = load_table(catalog, change.name())
    if latest is None:
        raise FormatError(f"table {name!r}: its change store was dropped meanwhile")
    refresh(base)
    return latest


def _updates(base: Table, change: Table) -> tuple[TableUpdate, ...]:
    known = _same_schema(change, base.schema())
    if known is not None and not _is_one_more(base, change):
        return (SetCurrentSchemaUpdate.model_validate({"schema-id": known}),)
    next_id = max(schema.schema_id for schema in change.metadata.schemas) + 1
    schema = Schema(
        *base.schema().fields,
        schema_id=next_id,
        identifier_field_ids=base.schema().identifier_field_ids,
    )
    return (
        AddSchemaUpdate(schema=schema),
        SetCurrentSchemaUpdate.model_validate({"schema-id": -1}),
    )


def _same_schema(change: Table, schema: Schema) -> int | None:
    """Return the version with the columns of a schema, the current one if it has them.

    Stores of other programs may differ in what can be null: then one that is the same but for that.
    """
    current = change.schema()
    versions = [current, *(each for each in change.metadata.schemas if each != current)]
    for columns in (_columns, _nullable_columns):
        for version in versions:
            if columns(version) == columns(schema):
                return version.schema_id
    return None


_Columns = dict[int, tuple[str, str, str]]
"""By id: the name, the type, and whether it may be null."""


def _columns(schema: Schema) -> _Columns:
    return {
        field_id: (
            column.name,
            str(column.field_type)
            if column.field_type.is_primitive
            else type(column.field_type).__name__,
            "not null" if column.required else "null",
        )
        for field_id, column in index_by_id(schema).items()
    }


def _nullable_columns(schema: Schema) -> _Columns:
    return {field_id: (*told[:2], "null") for field_id, told in _columns(schema).items()}


def _difference(base: Schema, change: Schema) -> str:
    ours, theirs = (
        {field_id: told[:2] for field_id, told in _columns(schema).items()}
        for schema in (base, change)
    )
    for field_id in sorted(ours.keys() | theirs.keys()):
        if ours.get(field_id) != theirs.get(field_id):
            return (
                f"column {field_id} is {ours.get(field_id)} in base but {theirs.get(field_id)} in "
                "change; expected the same columns by id"
            )
    return "its stores have different schemas"


def in_step(catalog: Catalog, base: Table, change: Table, *, name: str, for_writing: bool) -> Table:
    """Return a change store that was loaded before base, with its columns if it is to be written.

    Raises:
        FormatError: halves that do not fit, also when both are loaded again.
    """
    try:
        lags = _change_lags(base, change, name=name)
    except FormatError:
        # The stores were loaded one after the other: schema changes may lie in between.
        refresh(change)
        refresh(base)
        lags = _change_lags(base, change, name=name)
    if lags and for_writing:
        return _complete_change(catalog, base, change, name=name)
    return change
