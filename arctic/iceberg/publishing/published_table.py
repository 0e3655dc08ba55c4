"""The table that shows a merged view: found or made, with the columns and field ids of base.

Rules:
    - Its columns have base's field ids, from the beginning and after every change of them.
    - Base names it before it is there, so nobody who deletes files of the pair misses it.
    - It is whole when the catalog knows it.
    - It says ``gc.enabled`` = ``false``: other engines then delete no file that it refers to.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.update import (
    AddSchemaUpdate,
    SetCurrentSchemaUpdate,
    SetPropertiesUpdate,
    TableUpdate,
)

from arctic.errors import AlreadyExistsError, ConflictError, InvalidInputError, UnsupportedError
from arctic.iceberg.catalogs.catalog import create_namespace, load_table
from arctic.iceberg.catalogs.pair import DEFAULT_PROPERTIES
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.ownership.published import shows
from arctic.iceberg.ownership.registered_table import register_table, table_like
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.tables.set_properties import commit_properties
from arctic.iceberg.translate import catalog_errors
from arctic.iceberg.values.name_mapping import NAME_MAPPING
from arctic.iceberg.values.names import check_new_name, parse_identifier
from arctic.iceberg.values.same_schemas import same_schemas
from arctic.options import MAY_DELETE
from arctic.table.property_names import (
    PUBLISHED_OF,
    PUBLISHED_OUTPUT,
    PUBLISHED_PREFIX,
    STORE,
)

PublishedTable = Table
V2, V3, CLEAN = "v2", "v3", "clean"
OUTPUTS = (V2, V3, CLEAN)
"""Position deletes of Iceberg's format version 2, deletion vectors of version 3, or copies of files
without their dead rows."""


def find_published(catalog: Catalog, name: str) -> Table | None:
    """Load the table of a name; None: there is none.

    Raises:
        InvalidInputError: a name that no table can have.
        StorageError: the catalog cannot be reached.
    """
    parts = parse_identifier(name)
    check_new_name(parts)
    return load_table(catalog, parts)


def check_shows(published: Table, opened: OpenTable) -> None:
    """Refuse a table that is not the published view of this one, or not as it was made.

    Raises:
        AlreadyExistsError: another table.
        UnsupportedError: its format version, partition fields or output are others by now.
    """
    name, base = ".".join(published.name()), opened.base
    if not shows(published, base):
        raise AlreadyExistsError(
            f"table {name!r} already exists, and does not show table {opened.table.name!r}; choose "
            "another name"
        )
    version = published.metadata.format_version
    is_as_made = version == _version(output_of(published)) and len(published.specs()) == 1
    if not is_as_made or not base.spec().compatible_with(published.spec()):
        raise UnsupportedError(
            f"table {name!r} was changed by others since it was published: it has format version "
            f"{version} and partition fields {published.spec().fields}; publish into another name, "
            f"or end this one: arctic.unpublish({opened.table.name!r}, {name!r})"
        )


def output_of(published: Table) -> str:
    """Return how a published table leaves dead rows out, as it was made."""
    return published.properties.get(PUBLISHED_OUTPUT, "")


def name_in_base(opened: OpenTable, name: str, output: str) -> None:
    """Let base name a published table, if it does not.

    Raises:
        NotFoundError: base was dropped.
        ConflictError: others changed base in every try, or made it a plain table.
        StorageError: the catalog cannot be reached.
    """
    base = opened.base
    commit_properties(
        base.catalog,
        base,
        {f"{PUBLISHED_PREFIX}{name}": output},
        (),
        expected={STORE: base.properties.get(STORE)},
        subject=f"table {opened.table.name!r}",
    )


def new_published(opened: OpenTable, name: str, output: str) -> Table:
    """Return a table without rows that is to show this one; no catalog knows it yet.

    Args:
        opened: the pair, whose base store names it already.
        name: of the new table; its namespace is created if need be.
        output: how it is to leave dead rows out.

    Raises:
        StorageError: the catalog cannot be reached.
    """
    base, parts = opened.base, parse_identifier(name)
    create_namespace(base.catalog, parts[:-1])
    return table_like(base, parts, _properties(base, output), version=_version(output))


def register_published(new: Table, updates: Sequence[TableUpdate] = ()) -> Table:
    """Let the catalog know a new published table, with its first snapshot if it has one.

    Raises:
        UnsupportedError: a catalog that takes no metadata that it has not made.
        ConflictError: others were faster.
        CommitStateUnknownError: the catalog did not answer.
        StorageError: the metadata cannot be written.
    """
    made = register_table(new, updates)
    if made is None:  # what they show may be newer than what the pair was pinned at here
        name = ".".join(new.name())
        raise ConflictError(f"table {name!r} was made by others meanwhile; publish again")
    return made


def follow_columns(published: Table, base: Table) -> None:
    """Give a published table base's current schema, ids included, if it has another one.

    Raises:
        ConflictError: others committed to it meanwhile.
        StorageError: the catalog cannot be reached.
    """
    updates = tuple(_updates(published, base))
    if not updates:
        return
    name = ".".join(published.name())
    with catalog_errors(f"change the columns of table {name!r}"):
        try:
            required = same_schemas(published.catalog, published)
            published.catalog.commit_table(published, required, updates)
        except CommitFailedException as error:
            raise ConflictError(
                f"table {name!r}: others published to it meanwhile; publish again"
            ) from error
    refresh(published)


def _version(output: str) -> int:
    return 3 if output == V3 else 2


def _updates(published: Table, base: Table) -> list[TableUpdate]:
    schema, schemas = base.schema(), published.metadata.schemas
    updates: list[TableUpdate] = []
    if published.schema() != schema:
        known = [each for each in schemas if each == schema]
        next_id = max(each.schema_id for each in schemas) + 1
        if not known:
            added = schema.model_copy(update={"schema_id": next_id})
            updates.append(AddSchemaUpdate(schema=added))
        schema_id = known[0].schema_id if known else -1
        updates.append(SetCurrentSchemaUpdate.model_validate({"schema-id": schema_id}))
    mapping = base.properties.get(NAME_MAPPING)
    if mapping is not None and mapping != published.properties.get(NAME_MAPPING):
        updates.append(SetPropertiesUpdate(updates={NAME_MAPPING: mapping}))
    return updates


def _properties(base: Table, output: str) -> dict[str, str]:
    properties = {
        **DEFAULT_PROPERTIES,
        MAY_DELETE.name: "false",
        PUBLISHED_OF: str(base.metadata.table_uuid),
        PUBLISHED_OUTPUT: output,
    }
    if NAME_MAPPING in base.properties:
        properties[NAME_MAPPING] = base.properties[NAME_MAPPING]
    return properties


def check_name(opened: OpenTable, name: str) -> None:
    """Refuse to publish a table as itself.

    Raises:
        InvalidInputError: naming it.
    """
    stores = [store for store in (opened.base, opened.change) if store is not None]
    if parse_identifier(name) in [tuple(store.name()) for store in stores]:
        raise InvalidInputError(
            f"table {opened.table.name!r} cannot be published into its own store {name!r}; choose "
            "another name"
        )
