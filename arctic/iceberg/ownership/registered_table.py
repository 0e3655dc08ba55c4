"""A new table with the columns of another one, field ids and all.

Rules:
    - It is made from metadata with the other's own schemas, spec and sort orders. A catalog that
      creates a table numbers the columns anew, and files that both tables refer to, or that move
      from one to the other, would be read as other columns.
    - It is worked out before a catalog knows of it, and registered with its first snapshot: nobody
      finds it half made.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from uuid import uuid4

from pyiceberg.exceptions import TableAlreadyExistsError
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.update import TableUpdate, update_table_metadata

from arctic.errors import ArcticError, CommitStateUnknownError, UnsupportedError
from arctic.iceberg.catalogs.asked_twice import may_ask_twice
from arctic.iceberg.catalogs.catalog import load_table
from arctic.iceberg.ownership.new_location import new_location
from arctic.iceberg.storage.many_snapshots import write_metadata
from arctic.iceberg.storage.table_io import TableIO
from arctic.iceberg.translate import catalog_errors


def table_like(
    model: Table,
    parts: tuple[str, ...],
    properties: Mapping[str, str],
    *,
    last_sequence_number: int = 0,
    version: int = 2,
) -> Table:
    """Return a table without snapshots that no catalog knows yet.

    Args:
        model: has the columns, partition fields and sort orders; of format version 2.
        parts: the name, in a namespace that is there.
        properties: all that it is to have.
        last_sequence_number: its first snapshot gets the next one.
        version: of the format; the columns of version 2 are columns of version 3.

    Raises:
        StorageError: the place for its files cannot be listed.
    """
    catalog = model.catalog
    with catalog_errors(f"create table {'.'.join(parts)!r}"):
        location = new_location(catalog, parts) or _beside(model, parts[-1])
    return Table(
        identifier=parts,
        metadata=_metadata(model, location, properties, last_sequence_number, version),
        metadata_location=f"{location}/metadata/00000-{uuid4()}.metadata.json",
        io=model.io,
        catalog=catalog,
    )


def register_table(new: Table, updates: Sequence[TableUpdate] = ()) -> Table | None:
    """Register a table that no catalog knows yet; None: somebody else has the name.

    Args:
        new: the table.
        updates: what it is to be changed by, such as its first snapshot.

    Raises:
        UnsupportedError: a catalog that takes no metadata that it has not made.
        CommitStateUnknownError: the catalog did not answer; files of the table must stay.
        StorageError: its metadata cannot be written.
    """
    catalog, parts, path = new.catalog, tuple(new.name()), new.metadata_location
    name, io = ".".join(parts), TableIO.of(new)
    with catalog_errors(f"create table {name!r}"):
        metadata = update_table_metadata(new.metadata, tuple(updates)) if updates else new.metadata
        write_metadata(metadata, new.io, path)
    try:
        return catalog.register_table(parts, path)
    except TableAlreadyExistsError as error:
        found = _found(new, error)
        if _is_same(found, new):
            return found
        if found is None and may_ask_twice(catalog):  # it may have another name by now
            raise _unknown(new, error) from error
        io.delete_quietly([path])
        return None
    except NotImplementedError as error:
        io.delete_quietly([path])
        raise UnsupportedError(
            f"table {name!r} cannot be made: its catalog cannot register a table by metadata that "
            "is there"
        ) from error
    except Exception as error:
        found = _found(new, error)
        if not _is_same(found, new):
            raise _unknown(new, error) from error
        return found


def _found(new: Table, failed: Exception) -> Table | None:
    """Return what has the name of a table; raises what failed as unknown if nobody can say."""
    try:
        return load_table(new.catalog, tuple(new.name()))
    except ArcticError:
        raise _unknown(new, failed) from failed


def _is_same(found: Table | None, new: Table) -> bool:
    return found is not None and found.metadata.table_uuid == new.metadata.table_uuid


def _unknown(new: Table, failed: Exception) -> CommitStateUnknownError:
    return CommitStateUnknownError(
        f"table {'.'.join(new.name())!r}: the catalog did not say whether it was created "
        f"({type(failed).__name__}: {failed}); call again"
    )


def _metadata(
    model: Table,
    location: str,
    properties: Mapping[str, str],
    last_sequence_number: int,
    version: int,
) -> TableMetadata:
    known = model.metadata
    return TableMetadataUtil.parse_obj(
        {
            "format-version": version,
            **({"next-row-id": 0} if version == 3 else {}),
            "location": location,
            "table-uuid": uuid4(),
            "last-updated-ms": time.time_ns() // 1_000_000,
            "last-column-id": known.last_column_id,
            "schemas": list(known.schemas),
            "current-schema-id": known.current_schema_id,
            "partition-specs": list(known.partition_specs),
            "default-spec-id": known.default_spec_id,
            "last-partition-id": known.last_partition_id,
            "sort-orders": list(known.sort_orders),
            "default-sort-order-id": known.default_sort_order_id,
            "properties": dict(properties),
            "last-sequence-number": last_sequence_number,
        }
    )


def _beside(model: Table, name: str) -> str:
    """Return a folder beside the other table's, where the catalog would choose one by itself."""
    parent = model.location().rstrip("/").rpartition("/")[0]
    return f"{parent}/{name}-{uuid4().hex[:12]}"
