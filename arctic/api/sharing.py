"""The verbs that make a second table of the files of one: shown to other engines, or cloned."""

from __future__ import annotations

from arctic.api.calls import Version, past_state
from arctic.job.past.clone_job import CloneReport, clone_table
from arctic.job.past_state import Moment
from arctic.job.publish.publish_job import end_publishing, publish_table
from arctic.job.publish.publish_report import PublishReport
from arctic.job.reference import Catalog, call_options, table_reference


def publish(
    identifier: str,
    *,
    into: str | None = None,
    output: str | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> PublishReport:
    """Show the newest rows of a table as one plain Iceberg table, which any engine reads.

    No data file is rewritten: the published table refers to those of this one, and marks their dead
    rows by position deletes, or by deletion vectors. The first call makes it. Each later one looks
    up only what changed since, and makes one snapshot, or none where nothing did.
    ``docs/engines.md`` says which engines read it.

    Args:
        identifier: ``namespace.table``, with a primary key.
        into: the name of the published table. None: the one it has been published under, or at
            first its own with ``_fresh`` at the end.
        output: ``v2`` marks dead rows by position deletes; ``v3`` by deletion vectors, in a table
            of format version 3; ``clean`` copies the files that have dead rows, without these, for
            engines that apply no deletes. None: as the published table was made; a new one as the
            table's property ``publish.output`` says.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: an entry for each live data file, and a bit for each row of the files that are looked
    up.

    Raises:
        NotFoundError: no such table, or the published one was dropped meanwhile.
        InvalidInputError: a table without a key, which is a plain Iceberg table by itself; another
            output than the published table was made with.
        AlreadyExistsError: the name is that of another table.
        UnsupportedError: others changed the published table in a way that cannot be followed.
        ConflictError: other publishers won every attempt; publish again.
        CommitStateUnknownError: the catalog did not answer; publish again.
    """
    reference = table_reference(call_options(identifier, warehouse, catalog))
    return publish_table(reference, into, output)


def unpublish(
    identifier: str,
    into: str | None = None,
    *,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> tuple[str, ...]:
    """Drop the published table of a table, with its own files; rows of the table stay.

    Args:
        identifier: ``namespace.table``.
        into: the published table; all of them, if left out.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Returns:
        The names of the published tables that are gone.

    Raises:
        NotFoundError: no such table, or it is not published under this name.
        StorageError: the catalog cannot be reached; call again. Or files could not be deleted: the
            published table is gone all the same, and the error names what stays.
    """
    return end_publishing(table_reference(call_options(identifier, warehouse, catalog)), into)


def clone(
    source: str,
    target: str,
    *,
    version: Version | None = None,
    as_of: Moment | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> CloneReport:
    """Make a table that begins with the rows of another one, by reference to its files.

    Metadata alone is written. From then on each is a table by itself: a write to one is not seen in
    the other, and cleaning of either keeps the files that the other refers to. ``docs/versions.md``
    says what is taken over, and what other engines must not do.

    Args:
        source: ``namespace.table``.
        target: the new table, in the same catalog.
        version: a number of ``versions``, the name of a tag, or the id of a snapshot; the newest
            state, if left out.
        as_of: a time with a zone, or the id of a snapshot, instead.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        AlreadyExistsError: the name is taken.
        NotFoundError: no such table or state, or one that has expired.
        UnsupportedError: a view, a table of format version 3, or a catalog that registers no table.
        ConflictError: the state expired in every attempt; clone again.
        CommitStateUnknownError: the catalog did not answer; look whether the clone is there.
    """
    reference = table_reference(call_options(source, warehouse, catalog))
    return clone_table(reference, target, past_state(as_of, version))
