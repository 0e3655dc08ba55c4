"""What a publish changes: the dead rows of files looked up, delete files or copies written.

Rules:
    - What is shown already, and stays the same, is kept as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from arctic.columns.integers.row_set import RowSet
from arctic.errors import NotFoundError, StorageError, UnsupportedError
from arctic.iceberg.publishing.commit_published import PublishedChange
from arctic.iceberg.publishing.published_table import CLEAN, V2, PublishedTable, output_of
from arctic.iceberg.publishing.shown_files import Shown, masked_path, stored_files
from arctic.iceberg.publishing.vector_files import VectorFile, write_vectors
from arctic.iceberg.snapshots.pinned_state import pinned_state
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.publish.copied_files import write_copies
from arctic.job.publish.dead_rows import FileChange, changes
from arctic.job.publish.kept_masks import KEPT_MASKS
from arctic.job.publish.merged_view import View, merged_view
from arctic.job.publish.publish_report import PublishReport
from arctic.job.read.asked_read import ReadSettings
from arctic.job.read.plan_rows import merge_request
from arctic.job.tasks.run_tasks import LocalRunner
from arctic.job.upkeep.mask_files import Dead, write_masks
from arctic.job.vectors.vector_work import VectorWork
from arctic.table.files import WrittenFile
from arctic.table.snapshot import TableSnapshot


def work_out(
    opened: OpenTable,
    state: TableSnapshot,
    published: PublishedTable,
    shown: Shown,
    report: PublishReport,
) -> tuple[PublishedChange, PublishReport]:
    """Write what a published table lacks, and return how it is to change.

    Args:
        opened: the pair.
        state: of the pair, which is to be shown.
        published: the table that is to show it.
        shown: what it shows now.
        report: what is known of this publish; it comes back with numbers of files.

    Raises:
        ArcticError: as ``merged_view``, ``changes`` and the writers of files; no file is left.
    """
    settings = ReadSettings.of({}, opened.table.properties)
    view = merged_view(opened, state, settings)
    found = changes(
        view,
        _view_before(opened, shown, settings),
        shown,
        VectorWork(
            tasks=(),
            request=merge_request(opened, settings, schema=pa.schema([]), row_filter=None),
            io=opened.io,
            comes_back=KEPT_MASKS.comes_back(str(opened.base.metadata.table_uuid)),
        ),
        LocalRunner.of_this_machine(),
    )
    output = output_of(published)
    plan = _Plan(shown, masks=output != CLEAN)
    dead, location = plan.dead_rows(found), published.location()
    written: tuple[WrittenFile, ...] = ()
    vectors: tuple[VectorFile, ...] = ()
    if output == CLEAN:
        written = write_copies(opened, location, dead)
    elif output == V2:
        written = write_masks(opened, location, dead)
    else:
        vectors = write_vectors(published, dead)
    change = PublishedChange(
        planned_at=shown.snapshot_id,
        state=state,
        added=(),
        written=written,
        vectors=vectors,
        removed_paths=shown.paths - plan.kept,
    )
    try:
        added = stored_files(opened, state, plan.added, published)
    except BaseException:
        opened.io.delete_quietly(change.new_paths)
        raise
    KEPT_MASKS.keep(plan.masked(written, vectors))
    gone, new = len(change.removed_paths & shown.data), len(change.new_paths)
    return replace(change, added=added), replace(
        report,
        data_files_added=len(added) + (0 if plan.masks else new),
        data_files_removed=gone,
        delete_files_added=new if plan.masks else 0,
        delete_files_removed=len(change.removed_paths) - gone,
    )


class _Plan:
    """What stays of a published table, and what comes to it."""

    def __init__(self, shown: Shown, *, masks: bool) -> None:
        self._shown = shown
        self.masks = masks
        self.kept: set[str] = set()
        self.added: set[str] = set()
        self._bits: dict[str, RowSet] = {}

    def dead_rows(self, found: Iterator[FileChange]) -> Iterator[Dead]:
        """Yield the files that a new one is to be written for; the sets then say the rest."""
        for each in found:
            if each.is_gone:
                continue
            path = each.viewed.file.path
            if each.dead is None:
                present = self._shown.of(path)
                self.kept.update(present.paths if present is not None else ())
                continue
            if self.masks or not len(each.dead):
                (self.kept if path in self._shown.data else self.added).add(path)
            if len(each.dead):
                if self.masks and each.bits is not None:
                    self._bits[path] = each.bits
                yield each.viewed.file, each.dead

    def masked(
        self, written: Sequence[WrittenFile], vectors: Sequence[VectorFile]
    ) -> Iterator[tuple[str, RowSet]]:
        """Yield the delete files that were written for these dead rows, each with its own."""
        named = [(file.path, file.referenced_path) for file in written]
        named += [(file.file_path, masked_path(file)) for file in vectors]
        for path, data_path in named:
            if data_path in self._bits:
                yield path, self._bits[data_path]


def _view_before(opened: OpenTable, shown: Shown, settings: ReadSettings) -> View | None:
    """Return the view that is shown now; None: it is not known, or not there any more."""
    if shown.state is None:
        return None
    try:
        return merged_view(opened, pinned_state(opened, *shown.state), settings)
    except (NotFoundError, StorageError, UnsupportedError):
        return None  # then every file is looked up, which costs more and gives the same
