"""The verbs that make plain Iceberg tables Arctic's, and give them back."""

from __future__ import annotations

from collections.abc import Sequence

from arctic.api.table import Table
from arctic.job.adopt.adopt_job import adopt_folder, adopt_table, release_table
from arctic.job.adopt.repair_job import RepairReport, repair_table
from arctic.job.read.asked_read import AskedRead
from arctic.job.reference import Catalog, as_names, call_options, table_reference


def adopt(
    identifier: str,
    *,
    primary_key: str | Sequence[str],
    files: str | None = None,
    check_key: bool = True,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> Table:
    """Make a plain Iceberg table the base store of a table with a primary key, and return it.

    No data file is rewritten: the table gets properties, and a change store beside it. Other
    engines go on reading it as before; what they write to it from then on must not repeat a key.

    Args:
        identifier: ``namespace.table``, an Iceberg table of format version 2.
        primary_key: the key columns in key order, or the name of the only one.
        files: a folder; the Parquet files in and below it become a new table of this name. None:
            the plain Iceberg table of this name is adopted.
        check_key: look whether several rows have the same key. DuckDB looks, with half a
            GiB of memory, and room for the keys in the folder for temporary files. Without it
            nobody notices keys that repeat, and reads return each of their rows.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table, or no file in the folder.
        AlreadyExistsError: it is Arctic's already, or becomes so meanwhile; or the name of its
            change store is taken.
        InvalidInputError: columns that are no key: missing, of a type that cannot be one, or not
            unique. Nothing is changed.
        UnsupportedError: another format version, several partition specs, equality deletes (see
            ``repair``), or data files that are not Parquet. Nothing is changed.
        ConflictError: others wrote to it meanwhile; adopt it again.
    """
    options = call_options(identifier, warehouse, catalog)
    asked, key = AskedRead.of(options), as_names(primary_key)
    if files is None:
        return Table(adopt_table(asked, key, checks_key=check_key), options)
    return Table(adopt_folder(asked, files, key, checks_key=check_key), options)


def release(
    identifier: str,
    *,
    discard_changes: bool = False,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> None:
    """Make a table with a primary key a plain Iceberg table again: its base store, as it is.

    The change store goes, with its files. Where somebody writes at the same time, one of the two
    fails: the write, because the table is gone, or the release, because the write was faster.

    Args:
        identifier: ``namespace.table``.
        discard_changes: lose what is not merged into base; else that is refused.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: changes that are not merged; a table without a key, or one that is
            published.
        ConflictError: others wrote to it meanwhile; it is as it was.
        StorageError: the catalog cannot be reached. Or files could not be deleted: it is a plain
            table all the same, and the error names what stays.
    """
    reference = table_reference(call_options(identifier, warehouse, catalog))
    release_table(reference, discards_changes=discard_changes)


def repair(
    identifier: str, *, warehouse: str | None = None, catalog: Catalog | None = None
) -> RepairReport:
    """Turn the equality deletes of an Iceberg table into positions, in one commit.

    Flink, Kafka Connect and others write deletes by key, which few readers apply. Afterwards dead
    rows are named by their place, which every reader understands: in position deletes of format
    version 2, or in deletion vectors, in a table of version 3. No data file is rewritten. The table
    may be any Iceberg table, or one of Arctic's that holds such deletes in its base store.

    Args:
        identifier: ``namespace.table``, of format version 2 or 3.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: half a GiB for keys, beyond that the folder for temporary files; some row groups of the
    columns that deletes go by; and an entry for each file, of some KiB.

    Raises:
        NotFoundError: no such table.
        UnsupportedError: another format version, several partition specs, files that are not
            Parquet, or deletes by columns that are nested, gone or floating-point numbers.
        ConflictError: others won every attempt; repair again.
        CommitStateUnknownError: the catalog did not answer; look at the snapshots.
    """
    return repair_table(AskedRead.of(call_options(identifier, warehouse, catalog)))
