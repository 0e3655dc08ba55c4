"""A range of both stores as stretches: commits of changes, and commits that replaced rows.

Strategy: a base commit that replaces rows leaves no changes behind, so what it did is the
difference of the states right before and right after it. The commits between two of them are told
by their changes. A range that is told as one change is the difference of its ends, as soon as rows
were replaced in it.

Where rows of a key are held against one another a change may lose, so what any commit did is a
difference too.

Rules:
    - Base commits are placed between changes as the versions of the table are numbered.
    - Two ranges that touch have one and the same state between them, so their differences add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from arctic.errors import NotFoundError
from arctic.iceberg.snapshots.change_log import check_commits, replacing_commits
from arctic.iceberg.snapshots.state_between import state_between
from arctic.iceberg.snapshots.versions import TableVersion, table_versions
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.changes.asked_changes import RowsAsked
from arctic.job.changes.change_files import merged_view
from arctic.job.changes.change_range import ChangePlace
from arctic.job.read.asked_read import ReadSettings
from arctic.scan.changes.difference_tasks import DifferenceGroup, plan_difference
from arctic.scan.choose.plan_files import FilesToRead

BASE, CHANGE = "base", "change"
Versions = Mapping[tuple[str, int], TableVersion]
"""By store and sequence number, in the order of the versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What lies between two places."""

    start: ChangePlace
    """Exclusive."""
    end: ChangePlace
    """Inclusive."""
    difference: TableVersion | None
    """It is the difference of its ends, told as this version; None: its changes tell it."""


def _commit_versions(opened: OpenTable) -> Versions:
    """Return the version that each commit made, as far as it is known; raises as there."""
    stores = {BASE: opened.base, CHANGE: opened.change}
    found: dict[tuple[str, int], TableVersion] = {}
    for each in table_versions(opened):
        made = each.base_snapshot_id if each.store == BASE else each.change_snapshot_id
        store = stores[each.store]
        snapshot = None if store is None else store.metadata.snapshot_by_id(made or 0)
        if snapshot is not None:
            found[each.store, snapshot.sequence_number or 0] = each
    return found


def _version_of(opened: OpenTable, versions: Versions, store: str, sequence: int) -> TableVersion:
    """Return the version that a commit made.

    Raises:
        NotFoundError: nobody knows any more which one it was.
    """
    if (store, sequence) not in versions:
        raise NotFoundError(
            f"table {opened.table.name!r}: the version that commit {sequence} of its {store} store "
            "made is not known any more, because older snapshots have expired; begin later, or "
            "keep them longer with table property snapshot.keep.duration"
        )
    return versions[store, sequence]


def stretches(
    opened: OpenTable, start: ChangePlace, end: ChangePlace, asked: RowsAsked
) -> list[Stretch]:
    """Divide a range where rows were replaced.

    Args:
        opened: a keyed table, its stores refreshed.
        start: exclusive.
        end: inclusive, not before ``start`` in either store.
        asked: how it is told.

    Raises:
        NotFoundError: a commit of the range has expired.
    """
    versions = _commit_versions(opened)
    bases = start.base_sequence_number, end.base_sequence_number
    commits = replacing_commits(opened, *bases, with_expiry=asked.tells_expiry)
    replacing = [each.sequence_number or 0 for each in commits]
    for sequence in replacing:
        _version_of(opened, versions, BASE, sequence)
    if asked.is_net and replacing:
        return [Stretch(start=start, end=end, difference=_last(versions, start, end))]
    found, at, changes = [], start, start.sequence_number
    for (store, sequence), version in versions.items():
        if store == CHANGE:
            changes = max(changes, min(sequence, end.sequence_number))
        elif sequence in replacing:
            before = ChangePlace(sequence_number=changes, base_sequence_number=sequence - 1)
            after = ChangePlace(sequence_number=changes, base_sequence_number=sequence)
            found.append(Stretch(start=at, end=before, difference=None))
            found.append(Stretch(start=before, end=after, difference=version))
            at = after
    return [*found, Stretch(start=at, end=end, difference=None)]


def as_differences(opened: OpenTable, parts: Sequence[Stretch], *, is_net: bool) -> list[Stretch]:
    """Return stretches in which no change tells what it did: each commit is the difference it made.

    Args:
        opened: a keyed table, its stores refreshed.
        parts: stretches of a range.
        is_net: each of them is told as one change.

    Raises:
        NotFoundError: the version that a commit made is not known any more.
    """
    versions, found = _commit_versions(opened), []
    for part in parts:
        first, last = part.start.sequence_number, part.end.sequence_number
        at = part.start
        for number in () if part.difference is not None else range(first + 1, last + 1):
            version = _version_of(opened, versions, CHANGE, number)
            if is_net and number < last:
                continue
            end = replace(part.end, sequence_number=number)
            found.append(Stretch(start=at, end=end, difference=version))
            at = end
        if part.difference is not None:
            found.append(part)
    return found


def difference_groups(
    opened: OpenTable, settings: ReadSettings, stretch: Stretch, told: TableVersion
) -> tuple[DifferenceGroup, ...]:
    """Plan the difference of the states at both ends of a stretch.

    Raises:
        NotFoundError: one of the states has expired.
        UnsupportedError: no snapshots of the stores are that state.
    """
    groups = plan_difference(
        files_at(opened, stretch.start),
        files_at(opened, stretch.end),
        key_ids=tuple(column.field_id for column in opened.table.key_columns),
        ordering_ids=tuple(column.field_id for column in opened.table.order_columns),
        engine=opened.table.merge_engine,
        keys_move=not opened.table.partition_follows_key,
        options=settings.division,
    )
    return tuple(
        DifferenceGroup(tasks=tasks, version=told.number, time_ms=told.committed_ms)
        for tasks in groups
    )


def files_at(opened: OpenTable, place: ChangePlace) -> FilesToRead:
    """List the files of all rows of the state at a place; raises as ``state_between``."""
    return merged_view(
        opened, *state_between(opened, place.sequence_number, place.base_sequence_number)
    )


def _last(versions: Versions, start: ChangePlace, end: ChangePlace) -> TableVersion:
    ranges = {
        BASE: range(start.base_sequence_number + 1, end.base_sequence_number + 1),
        CHANGE: range(start.sequence_number + 1, end.sequence_number + 1),
    }
    return [each for (store, number), each in versions.items() if number in ranges[store]][-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commits:
    """The commits of a range, ascending."""

    sequences: tuple[int, ...]
    versions: tuple[int, ...]
    times_ms: tuple[int, ...]

    @classmethod
    def between(cls, opened: OpenTable, after: int, up_to: int) -> Commits:
        """Return those after one, up to another; raises NotFoundError as ``check_commits``."""
        name = BASE if opened.change is None else CHANGE
        versions = _commit_versions(opened)
        commits = check_commits(opened, after, up_to, skips_overwrites=True)
        wanted = [each.sequence_number or 0 for each in commits]
        known = [_version_of(opened, versions, name, each) for each in wanted]
        return cls(
            sequences=tuple(wanted),
            versions=tuple(each.number for each in known),
            times_ms=tuple(each.committed_ms for each in known),
        )
