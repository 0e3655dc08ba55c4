"""One cleaning, step by step.

Strategy: rows that are too old, if the table says so, then merged change files, position deletes
that delete nothing, snapshots of base, snapshots of change, the files that only those had, orphans.
Each step commits before the next one begins, and what it frees is decided by what is committed. So
a run that is killed anywhere has lost nothing; at worst it leaves files that nothing refers to, and
a later run takes those for orphans.

A dry run takes each step as done when it looks at the next one. It cannot know which manifests
the commits would have merged, nor the files of those commits themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.refresh import refresh
from arctic.iceberg.cleaning.expire_files import expire_changes, expire_dangling_deletes
from arctic.iceberg.cleaning.expire_snapshots import (
    KeepRules,
    RemovedSnapshots,
    base_snapshots_to_read,
    expire_snapshots,
)
from arctic.iceberg.cleaning.orphans import find_orphans
from arctic.iceberg.cleaning.spare_others import spare_others
from arctic.iceberg.ownership.clones import may_delete
from arctic.iceberg.ownership.reachable import normalised, referenced_paths
from arctic.iceberg.snapshots.consumers import consumers_of, held_snapshots
from arctic.iceberg.snapshots.pin import changes_under
from arctic.iceberg.snapshots.tags import tags_of
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.edit.retention import expire_rows
from arctic.job.reference import TableReference
from arctic.job.upkeep.asked_upkeep import AskedExpire, ExpireSettings
from arctic.table.expire_report import ExpiredItem, ExpiredKind, ExpireReport
from arctic.table.expiry import duration_text, is_old


def expire_table(asked: AskedExpire, *, dry_run: bool, now_ms: int | None = None) -> ExpireReport:
    """Clean a table up.

    Args:
        asked: what the options say.
        dry_run: change nothing, only say what would go.
        now_ms: by which ages are counted; None: what the clock says.

    Raises:
        InvalidInputError: a bad value of a property, or a table whose files must not be deleted.
        NotFoundError: an unknown table.
        UnsupportedError: content that this version would read wrongly.
        ConflictError: other writers won every retry; the steps before are done.
        CommitStateUnknownError: nobody knows whether a step was committed.
        StorageError: the catalog or a file cannot be reached; the steps before are done.
    """
    return _cleaned(asked, _Run.carry_out, dry_run=dry_run, now_ms=now_ms)


def delete_orphans(asked: AskedExpire, *, dry_run: bool) -> ExpireReport:
    """Delete the files that nothing refers to, also where a table's property leaves them alone.

    Args:
        asked: what the options say.
        dry_run: change nothing, only say what would go.

    Raises:
        InvalidInputError: a bad value of a property, or a table whose files must not be deleted.
        NotFoundError: an unknown table.
        StorageError: the catalog or a file cannot be reached.
    """
    return _cleaned(asked, _Run.delete_orphans, dry_run=dry_run)


def _cleaned(
    asked: AskedExpire,
    steps: Callable[[_Run], None],
    *,
    dry_run: bool,
    now_ms: int | None = None,
) -> ExpireReport:
    started = time.monotonic()
    opened = asked.reference.open()
    _check_may_delete(opened)
    run = _Run(
        opened,
        asked.reference,
        asked.settings(opened),
        now_ms=time.time_ns() // 1_000_000 if now_ms is None else now_ms,
        dry_run=dry_run,
    )
    steps(run)
    return ExpireReport(
        table=opened.table.name,
        items=tuple(run.items),
        outside=tuple(run.outside),
        notes=tuple(run.notes),
        seconds=time.monotonic() - started,
        dry_run=dry_run,
    )


def _check_may_delete(opened: OpenTable) -> None:
    for store in (opened.base, opened.change):
        if store is not None and not may_delete(store.properties):
            raise InvalidInputError(
                f"table {'.'.join(store.name())!r}: property {opt.MAY_DELETE.name} = 'false' says "
                "that its files may belong to other tables too; expected 'true' or no such property"
            )


class _Run:
    """One cleaning that goes on; the steps stand in their order."""

    def __init__(
        self,
        opened: OpenTable,
        reference: TableReference,
        settings: ExpireSettings,
        *,
        now_ms: int,
        dry_run: bool,
    ) -> None:
        self.items: list[ExpiredItem] = []
        self.outside: list[ExpiredItem] = []
        self.notes: list[str] = []
        self._opened = opened
        self._reference = reference
        self._settings = settings
        self._now_ms = now_ms
        self._dry_run = dry_run

    def carry_out(self) -> None:
        """Take every step."""
        rows = self._expire_rows()
        changes = self._expire_changes()
        deletes = expire_dangling_deletes(self._opened, dry_run=self._dry_run)
        self.items += deletes
        removed = {"base": self._expire_base_snapshots(commits_next=bool(deletes or rows))}
        removed |= self._expire_change_snapshots(commits_next=bool(changes))
        dropped = frozenset(item.name for item in (*rows, *changes, *deletes))
        self._delete_files(removed, dropped)
        if self._settings.cleans_orphans:
            self.delete_orphans()

    def delete_orphans(self) -> None:
        """Take the last step, which needs none of the others."""
        orphans = find_orphans(
            self._opened, min_age_ms=self._settings.orphan_age_ms, now_ms=self._now_ms
        )
        self.notes += orphans.notes
        self._delete(orphans.items)

    def _expire_rows(self) -> tuple[ExpiredItem, ...]:
        if self._settings.retention is None:
            return ()
        expired = expire_rows(
            self._reference, self._settings.retention, now_ms=self._now_ms, dry_run=self._dry_run
        )
        self.items += expired
        return expired

    def _expire_changes(self) -> tuple[ExpiredItem, ...]:
        expired = expire_changes(
            self._opened,
            ttl_ms=self._settings.change_ttl_ms,
            keep_ms=self._settings.keep_ms,
            now_ms=self._now_ms,
            dry_run=self._dry_run,
        )
        self.items += expired
        return expired

    def _expire_base_snapshots(self, *, commits_next: bool) -> RemovedSnapshots:
        rules = KeepRules(
            keep_ms=self._settings.keep_ms, min_count=self._settings.min_count, now_ms=self._now_ms
        )
        removed = expire_snapshots(
            self._opened.base,
            rules,
            needed=lambda: self._held_for_consumers(is_base=True),
            dry_run=self._dry_run,
            commits_next=commits_next,
        )
        self.items += _snapshot_items("base", removed, rules)
        return removed

    def _expire_change_snapshots(self, *, commits_next: bool) -> dict[str, RemovedSnapshots]:
        if self._opened.change is None:
            return {}
        rules = KeepRules(
            keep_ms=self._settings.change_ttl_ms,
            min_count=self._settings.min_count,
            now_ms=self._now_ms,
        )
        removed = expire_snapshots(
            self._opened.change,
            rules,
            needed=self._change_snapshots_under_base,
            dry_run=self._dry_run,
            commits_next=commits_next,
        )
        self.items += _snapshot_items("change", removed, rules)
        return {"change": removed}

    def _change_snapshots_under_base(self) -> frozenset[int]:
        base = refresh(self._opened.base)
        # Also where the tag of the change store was moved by a call that another was faster than.
        tags = tags_of(base.properties).values()
        tagged = [tag.change_snapshot_id for tag in tags if tag.change_snapshot_id is not None]
        return changes_under(
            self._opened,
            base_snapshots_to_read(base, keep_ms=self._settings.keep_ms, now_ms=self._now_ms),
        ).union(tagged, self._held_for_consumers(is_base=False))

    def _held_for_consumers(self, *, is_base: bool) -> frozenset[int]:
        base, age_ms = refresh(self._opened.base), self._settings.consumer_age_ms
        held = [
            each
            for each in consumers_of(base.properties).values()
            if not is_old(each.moved_ms, duration_ms=age_ms, now_ms=self._now_ms)
        ]
        store = base if is_base else self._opened.change
        return held_snapshots(store, held, is_base=is_base)

    def _delete_files(
        self, removed: Mapping[str, RemovedSnapshots], dropped: frozenset[str]
    ) -> None:
        """Delete what only removed snapshots reach, by what the catalog says now.

        In a dry run the snapshots are still there: they are taken to be gone, and the files that
        the first steps take out of the newest snapshot likewise.
        """
        if not any(each.snapshots for each in removed.values()):
            return
        found = [item for name, each in removed.items() for item in _file_items(name, each)]
        gone = frozenset[int]()
        if self._dry_run:
            gone = gone.union(*(each.ids for each in removed.values()))
        kept = frozenset[str]()
        for store in (self._opened.base, self._opened.change):
            if store is not None:
                kept |= referenced_paths(
                    refresh(store), without=gone, dropped=dropped if self._dry_run else frozenset()
                )
        unkept = {path: item for item in found if (path := normalised(item.name)) not in kept}
        if unkept:
            self._delete_unkept(unkept)

    def _delete_unkept(self, unkept: Mapping[str, ExpiredItem]) -> None:
        """Delete what this table does not need, as far as it may be nobody else's."""
        spared = spare_others(
            self._opened, frozenset(unkept), deletes_outside=self._settings.deletes_outside
        )
        self.notes += spared.notes
        self.outside += [unkept[path] for path in sorted(spared.outside)]
        stay = spared.needed | spared.outside
        self._delete(item for path, item in unkept.items() if path not in stay)

    def _delete(self, items: Iterable[ExpiredItem]) -> None:
        """Delete files that nothing refers to any more; what cannot be deleted is noted."""
        listed = sorted(items, key=lambda item: (item.store, list(ExpiredKind).index(item.kind)))
        left: frozenset[str] = frozenset()
        if not self._dry_run:
            left = frozenset(self._opened.io.delete_quietly(item.name for item in listed))
        self.items += [item for item in listed if item.name not in left]
        if left:
            self.notes.append(f"{len(left)} files could not be deleted, such as {min(left)!r}")


def _snapshot_items(
    store: str, removed: RemovedSnapshots, rules: KeepRules
) -> Iterator[ExpiredItem]:
    reason = f"older than {duration_text(rules.keep_ms)}, and nothing that stays needs it"
    for snapshot in removed.snapshots:
        yield ExpiredItem(
            store=store,
            kind=ExpiredKind.SNAPSHOT,
            name=str(snapshot.snapshot_id),
            size_bytes=None,
            reason=reason,
        )


def _file_items(store: str, removed: RemovedSnapshots) -> Iterator[ExpiredItem]:
    for file in removed.files():
        yield ExpiredItem(
            store=store,
            kind=file.kind,
            name=file.path,
            size_bytes=file.size_bytes,
            reason="only expired snapshots refer to it",
        )
