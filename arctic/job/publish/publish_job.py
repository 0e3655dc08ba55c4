"""One publish: the newest state pinned, compared with what is shown, and shown in one commit.

Strategy: data files of base and change are taken over by reference. Rows of them that later changes
have killed are named in position deletes, one delete file for each data file, which takes the place
of the one before. Files of which no row is left are left out.

Rules:
    - The pair that is pinned has the snapshots that are shown, or was opened after they were
      looked at. They must still be shown at the commit: so it never goes back to an older state.
    - A publish that would change nothing makes no commit.
    - A new published table is registered with its first snapshot: nobody finds it empty.
    - Files of an attempt that was not committed are deleted.
"""

from __future__ import annotations

import time
from dataclasses import replace

from arctic import options as opt
from arctic.errors import (
    ArcticError,
    CommitStateUnknownError,
    ConflictError,
    InvalidInputError,
    StorageError,
)
from arctic.iceberg.catalogs.catalog import open_catalog
from arctic.iceberg.catalogs.read_only import check_writable
from arctic.iceberg.ownership.published import published_names
from arctic.iceberg.publishing.after_publish import check_still_there
from arctic.iceberg.publishing.commit_published import commit_published, forget_old
from arctic.iceberg.publishing.drop_published import drop_published
from arctic.iceberg.publishing.published_table import (
    OUTPUTS,
    PublishedTable,
    check_name,
    check_shows,
    find_published,
    follow_columns,
    name_in_base,
    new_published,
    output_of,
    register_published,
)
from arctic.iceberg.publishing.shown_files import NOTHING_SHOWN, Shown, shown_files
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.storage.table_io import is_file_gone
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.values.names import parse_identifier
from arctic.job.publish.publish_report import PublishReport
from arctic.job.publish.work_out import work_out
from arctic.job.reference import TableReference
from arctic.retry import WHERE_OUTRUN

_NAME_ADDED = "_fresh"


def publish_table(
    reference: TableReference, into: str | None, output: str | None, *, now_ms: int | None = None
) -> PublishReport:
    """Show the newest state of a table as a plain Iceberg table.

    Args:
        reference: the table.
        into: the name that it is shown under; None: the one that it has, or one with ``_fresh``.
        output: one of ``OUTPUTS``; None: as the published table was made; for a new one what the
            table's property ``publish.output`` says.
        now_ms: the time by which its snapshots are old; None: that of the clock.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: a table without a key, or shown under several names; another output than
            the published table was made with.
        AlreadyExistsError: the name is that of another table.
        ConflictError: other publishers won every attempt; publish again.
        CommitStateUnknownError: the catalog did not answer; publish again.
        StorageError: the catalog or a file cannot be reached; nothing was published.
    """
    started = time.monotonic()
    into = None if into is None else ".".join(parse_identifier(into))
    if output not in (None, *OUTPUTS):
        raise InvalidInputError(f"output {output!r}: expected one of {', '.join(OUTPUTS)}")
    for _ in WHERE_OUTRUN.tries():
        try:
            return _publish(reference, into, output, started, now_ms)
        except (ConflictError, StorageError) as error:  # noqa: PERF203 - the point of the loop
            if isinstance(error, StorageError) and not is_file_gone(error):
                raise
            outrun = error
    raise ConflictError(
        f"table {reference.identifier!r}: others won {WHERE_OUTRUN.most_tries} attempts to publish "
        f"it; publish again ({outrun.message})"
    ) from outrun


def end_publishing(reference: TableReference, into: str | None) -> tuple[str, ...]:
    """Drop what shows a table: the table of a name, or all of them; return their names.

    Raises:
        NotFoundError: no such table, or it is not published under this name.
        StorageError: the catalog cannot be reached; call again.
    """
    name = None if into is None else ".".join(parse_identifier(into))
    return drop_published(reference.open(for_writing=True), name)


def _publish(
    reference: TableReference,
    into: str | None,
    output: str | None,
    started: float,
    now_ms: int | None,
) -> PublishReport:
    catalog = open_catalog(reference.config)
    check_writable(catalog)
    opened = reference.open(for_writing=True)
    _check_keyed(opened)
    name = into or _usual_name(opened)
    check_name(opened, name)
    published = find_published(catalog, name)
    shown = NOTHING_SHOWN if published is None else shown_files(published)
    if published is not None and not _knows(opened, shown):
        opened = reference.open(for_writing=True)
    if published is None:
        made = output or opt.PUBLISHED_OUTPUT.value({}, opened.table.properties)
    else:
        check_shows(published, opened)
        _check_output(published, name, output)
        made = output_of(published)
    name_in_base(opened, name, made)
    if published is None:
        view = new_published(opened, name, made)
    else:
        view = published
        follow_columns(view, opened.base)
    state = pin(opened)
    ids = (state.base_snapshot_id, state.change_snapshot_id)
    report = PublishReport(
        table=opened.table.name,
        into=name,
        base_snapshot_id=state.base_snapshot_id,
        change_snapshot_id=state.change_snapshot_id,
    )
    if ids == (None, None):
        if published is None:
            register_published(view)
    elif ids != shown.state:
        change, report = work_out(opened, state, view, shown, report)
        try:
            snapshot_id = commit_published(view, opened, change, is_new=published is None)
        except CommitStateUnknownError:
            raise
        except ArcticError:
            opened.io.delete_quietly(change.new_paths)
            raise
        check_still_there(opened, name, made, state)
        report = replace(report, snapshot_id=snapshot_id)
    if published is not None:
        forget_old(
            published,
            keep_ms=opt.SNAPSHOT_KEEP_MS.value({}, opened.table.properties),
            min_count=opt.SNAPSHOT_KEEP_COUNT.value({}, opened.table.properties),
            now_ms=time.time_ns() // 1_000_000 if now_ms is None else now_ms,
        )
    return replace(report, seconds=time.monotonic() - started)


def _knows(opened: OpenTable, shown: Shown) -> bool:
    """Say whether a pair, as it was opened, is for certain no older than what is shown of it."""
    return shown.state is not None and all(
        snapshot_id is None
        or (store is not None and store.metadata.snapshot_by_id(snapshot_id) is not None)
        for store, snapshot_id in zip((opened.base, opened.change), shown.state, strict=True)
    )


def _check_output(published: PublishedTable, name: str, output: str | None) -> None:
    made = output_of(published)
    if made not in OUTPUTS or output not in (None, made):
        raise InvalidInputError(
            f"table {name!r} was published with output {made!r}, not {output or 'a known one'!r}; "
            "publish into another name"
        )


def _check_keyed(opened: OpenTable) -> None:
    if not opened.table.is_keyed:
        name = opened.table.name
        raise InvalidInputError(
            f"table {name!r} has no primary key, so {name!r} itself is a plain Iceberg table with "
            "every row of it; engines read that"
        )


def _usual_name(opened: OpenTable) -> str:
    names = published_names(opened.base)
    if len(names) > 1:
        raise InvalidInputError(
            f"table {opened.table.name!r} is published as {', '.join(map(repr, names))}; say by "
            "into= which of them"
        )
    return names[0] if names else f"{opened.table.name}{_NAME_ADDED}"
