"""The writers that a table's watermark waits for."""

from __future__ import annotations

from arctic.iceberg.commits.commit_notes import watermarks
from arctic.iceberg.commits.move_watermark import retire_writer as retire
from arctic.job.reference import TableReference


def writer_watermarks(reference: TableReference) -> dict[str, int]:
    """Return each writer's own watermark, in milliseconds, by name."""
    writers = watermarks(reference.open()).writers
    return {name: writers[name] for name in sorted(writers)}


def retire_writer(reference: TableReference, writer: str) -> dict[str, int]:
    """Let the watermark no longer wait for a writer; return those that are left.

    Raises:
        NotFoundError: no watermark of this writer is known.
        ConflictError: other commits won every retry.
    """
    retire(reference.open(), writer)
    return writer_watermarks(reference)
