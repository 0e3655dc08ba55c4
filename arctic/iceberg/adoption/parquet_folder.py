"""A folder of Parquet files becomes a plain Iceberg table; its files stay where they are.

Rules:
    - The table is registered with its files in its first snapshot: nobody finds it half made.
    - Columns are matched by name; one that a file does not have is null in it. Files that already
      belong to a table, or to partitions that their folders name, are refused: their rows or
      columns would be taken for others.
    - The table's own folder is another one, so no cleaning deletes these files unasked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io import load_file_io
from pyiceberg.io.pyarrow import parquet_file_to_data_file, parquet_path_to_id_mapping
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from arctic.columns.field_ids import has_field_ids
from arctic.errors import (
    AlreadyExistsError,
    FormatError,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)
from arctic.iceberg.branching.named_branch import check_no_branch
from arctic.iceberg.catalogs.catalog import (
    CatalogConfig,
    create_namespace,
    load_table,
    open_catalog,
)
from arctic.iceberg.catalogs.pair import store_of
from arctic.iceberg.commits.asking.staged_snapshot import SnapshotPlan
from arctic.iceberg.commits.staging import staged_on
from arctic.iceberg.metadata.data_files import without_true_bounds
from arctic.iceberg.ownership.folders import delete_own_files, owner_of
from arctic.iceberg.ownership.known_tables import known_tables
from arctic.iceberg.ownership.new_location import new_location
from arctic.iceberg.ownership.registered_table import register_table
from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.translate import catalog_errors
from arctic.iceberg.values.name_mapping import NAME_MAPPING
from arctic.iceberg.values.names import check_new_name, parse_identifier
from arctic.iceberg.values.schema import iceberg_schema

_REMOTE = re.compile(r"[A-Za-z][\w+.-]*:")
_PARTITION = re.compile(r"/[^/=]+=[^/]*/")
_MEANS_ANOTHER = re.compile(r"[#?%\x00-\x1f]")
_WHOLE_BOUNDS = {"write.metadata.metrics.default": "full"}


def register_folder(config: CatalogConfig, identifier: str, folder: str) -> Table:
    """Register a plain Iceberg table of the Parquet files in a folder, and those below it.

    Args:
        config: the catalog; a missing warehouse is made.
        identifier: ``namespace.table``, which there is none of.
        folder: a local path, or one of a scheme that a file system is installed for.

    Raises:
        NotFoundError: no such file.
        AlreadyExistsError: the name is taken.
        InvalidInputError: files with other columns, or other files among them; a name that a new
            table cannot have.
        UnsupportedError: columns or files that a plain table cannot take over.
        StorageError: the catalog or a file cannot be reached.
    """
    parts = parse_identifier(identifier)
    check_new_name(parts)
    catalog = open_catalog(config, create=True)
    check_no_branch(catalog, parts)
    if load_table(catalog, parts) is not None:
        raise AlreadyExistsError(f"table {identifier!r} already exists; adopt it without files")
    place = folder if _REMOTE.match(folder) else f"file://{os.path.abspath(folder)}"
    io = TableIO(properties=dict(catalog.properties), location=place)
    paths = _parquet_files(catalog, io, place)
    columns = _columns(io, paths)
    create_namespace(catalog, parts[:-1])
    new = _new_table(catalog, parts, columns, place)
    with catalog_errors(f"take files over into table {identifier!r}"):
        try:
            added = tuple(map(partial(_data_file, new), paths))
        except ValueError as error:
            raise InvalidInputError(f"table {identifier!r}: {error}") from error
    staged = staged_on(
        new,
        SnapshotPlan(operation=Operation.APPEND, added=added),
        new.metadata.new_snapshot_id(),
    )
    made = register_table(new, staged.updates)
    if made is None:
        staged.discard()
        raise AlreadyExistsError(f"table {identifier!r} was made by others meanwhile")
    return made


def forget_folder(made: Table) -> None:
    """Take a table of a folder out of the catalog again, unless it is adopted; its files stay."""
    found = load_table(made.catalog, tuple(made.name()))
    is_same = found is not None and found.metadata.table_uuid == made.metadata.table_uuid
    if found is None or not is_same or store_of(found.properties) is not None:
        return
    with catalog_errors(f"drop table {'.'.join(made.name())!r}"), suppress(NoSuchTableError):
        made.catalog.drop_table(made.name())
    delete_own_files(found)


def _parquet_files(catalog: Catalog, io: TableIO, place: str) -> list[str]:
    if _MEANS_ANOTHER.search(place):
        raise InvalidInputError(
            f"folder {place!r}: '#', '?', '%' and control characters mean something else in URIs"
        )
    known = known_tables(catalog)
    paths = []
    for file in io.list_files(place):
        below = file.path[len(place.rstrip("/")) :]
        if re.search(r"/[_.]", below):
            continue  # notes of engines, and files that are not finished
        if not below.endswith(".parquet") or _MEANS_ANOTHER.search(below):
            raise InvalidInputError(
                f"file {file.path!r}: expected only Parquet files, with names that end in "
                "'.parquet' and have none of '#', '?', '%'; move it elsewhere"
            )
        if _PARTITION.search(below):
            raise UnsupportedError(
                f"file {file.path!r}: its folders name partitions, whose columns files leave out; "
                "make an Iceberg table with these partitions, add the files to it, and adopt that"
            )
        owner = owner_of(file.path, known)
        if owner is not None:
            raise InvalidInputError(f"file {file.path!r} lies in the folder of {owner.name!r}")
        paths.append(file.path)
    if not paths:
        raise NotFoundError(f"folder {place!r}: no file in it ends in '.parquet'")
    return paths


def _columns(io: TableIO, paths: Sequence[str]) -> Schema:
    schemas = []
    for path in paths:
        with io.open_input(path) as stream:
            try:
                schema = pq.read_schema(stream)
            except (pa.ArrowInvalid, OSError) as error:
                raise FormatError(f"file {path!r}: {error}") from error
        if has_field_ids(schema):
            raise UnsupportedError(
                f"file {path!r}: its columns have the field ids of another Iceberg table; register "
                "that table in the catalog, and adopt it"
            )
        schemas.append(schema.remove_metadata())
    try:
        return iceberg_schema(pa.unify_schemas(schemas))
    except pa.ArrowException as error:
        raise InvalidInputError(f"files of {os.path.dirname(paths[0])!r}: {error}") from error


def _data_file(new: Table, path: str) -> DataFile:
    """Return a file as one of a table, with the bounds that hold for all of its rows."""
    try:
        file = parquet_file_to_data_file(new.io, new.metadata, path)
    except UnicodeEncodeError:
        # PyIceberg cuts some texts within a character; as a whole their bounds are as true.
        whole = new.metadata.model_copy(
            update={"properties": {**new.metadata.properties, **_WHOLE_BOUNDS}}
        )
        file = parquet_file_to_data_file(new.io, whole, path)
    if len(file.split_offsets or ()) > 1:
        with new.io.new_input(path).open() as stream:
            footer = pq.read_metadata(stream)
        for field_id in without_true_bounds(footer, parquet_path_to_id_mapping(new.schema())):
            file.lower_bounds.pop(field_id, None)
            file.upper_bounds.pop(field_id, None)
    return file


def _new_table(catalog: Catalog, parts: tuple[str, ...], columns: Schema, place: str) -> Table:
    with catalog_errors(f"create table {'.'.join(parts)!r}"):
        location = new_location(catalog, parts) or f"{place.rstrip('/')}-table"
    metadata = new_table_metadata(
        columns, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, location
    )
    mapping = metadata.schema().name_mapping.model_dump_json()
    return Table(
        identifier=parts,
        metadata=metadata.model_copy(update={"properties": {NAME_MAPPING: mapping}}),
        metadata_location=f"{location}/metadata/00000-{metadata.table_uuid}.metadata.json",
        io=load_file_io(properties=dict(catalog.properties), location=location),
        catalog=catalog,
    )
