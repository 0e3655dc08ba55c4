"""The writers that a table's watermark waits for."""

from __future__ import annotations

from collections.abc import Mapping

from arctic.iceberg.commits.commit_notes import watermarks
from arctic.iceberg.commits.retire_writer import retire_writer as retire
from arctic.iceberg.tables.open_table import open_table
from arctic.job.reference import table_reference


def writer_watermarks(options: Mapping[str, str]) -> dict[str, int]:
    """Return each writer's own watermark, in milliseconds, by name.

    Args:
        options: ``path`` and catalog options.
    """
    reference = table_reference(options)
    writers = watermarks(open_table(reference.config, reference.identifier)).writers
    return {name: writers[name] for name in sorted(writers)}


def retire_writer(options: Mapping[str, str], writer: str) -> dict[str, int]:
    """Let the watermark no longer wait for a writer; return those that are left.

    Raises:
        NotFoundError: no watermark of this writer is known.
        ConflictError: other commits won every retry.
    """
    reference = table_reference(options)
    retire(open_table(reference.config, reference.identifier), writer)
    return writer_watermarks(options)
