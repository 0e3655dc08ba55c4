"""The verb that makes a second table of the files of one."""

from __future__ import annotations

from arctic.api.calls import Version, past_state
from arctic.job.past.clone_job import CloneReport, clone_table
from arctic.job.past_state import Moment
from arctic.job.reference import Catalog, call_options, table_reference


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
