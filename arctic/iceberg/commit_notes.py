"""What a commit writes down beside its files: which batch it is, and how far event time has come.

Rules:
    - Notes are made anew on the head of every attempt, and committed with the files or not at all.
    - A batch that a head knows is not committed again, whoever committed it.
    - A watermark never goes back, and every snapshot repeats it, so that expiry loses none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from pyiceberg.table import Table

from arctic.errors import ConflictError, FormatError
from arctic.iceberg.open_table import OpenTable
from arctic.iceberg.pair import store_of
from arctic.iceberg.snapshot_producer import SnapshotPlan
from arctic.table.property_names import BASE_WATERMARK, WATERMARK
from arctic.table.stream_batch import StreamBatch


class BatchLandedError(ConflictError):
    """The batch is in the table already: another attempt at it has committed."""


def with_notes(
    head: Table,
    what: SnapshotPlan,
    *,
    batch: StreamBatch | None = None,
    watermark_ms: int | None = None,
) -> SnapshotPlan:
    """Let a snapshot remember its batch, and how far event time has come.

    Args:
        head: the store, just refreshed.
        what: what the snapshot does.
        batch: which one it is; None: it is no batch.
        watermark_ms: what its files bring; None: nothing.

    Raises:
        BatchLandedError: the head holds the batch.
        FormatError: what the head remembers is not readable.
    """
    summary, properties = dict(what.summary), dict(what.properties)
    if batch is not None:
        if batch.has_landed(head.properties):
            raise BatchLandedError(
                f"table {'.'.join(head.name())!r} holds batch {batch.batch_id} of stream "
                f"{batch.query_id!r} already; go on with the next one"
            )
        summary |= batch.summary
        properties |= batch.properties
    known = [each for each in (watermark_in(head.properties), watermark_ms) if each is not None]
    if known:
        text = str(max(known))
        properties[WATERMARK] = summary[WATERMARK] = text
        if store_of(head.properties) == "base":
            summary[BASE_WATERMARK] = text
    return replace(what, summary=summary, properties=properties)


def watermark_in(texts: Mapping[str, str | None]) -> int | None:
    """Return the watermark in table properties or in a summary; None: there is none.

    Raises:
        FormatError: it is not a number.
    """
    text = texts.get(WATERMARK)
    if text is None:
        return None
    if not re.fullmatch(r"-?\d+", text):
        raise FormatError(f"table property {WATERMARK} = {text!r}: expected milliseconds")
    # Where there is none, Amoro says -1.
    return int(text) if int(text) != -1 else None


def watermarks(opened: OpenTable) -> dict[str, str]:
    """Return the watermarks of a table, as its properties show them; what is not known is absent.

    Raises:
        FormatError: one is not a number.
    """
    base = watermark_in(opened.base.properties)
    change = None if opened.change is None else watermark_in(opened.change.properties)
    known = [each for each in (base, change) if each is not None]
    shown = {WATERMARK: str(max(known))} if known else {}
    return shown if base is None else {**shown, BASE_WATERMARK: str(base)}


def change_watermark(opened: OpenTable, up_to: int) -> int | None:
    """Return the watermark of the changes up to a sequence number, as far as summaries tell.

    Args:
        opened: a keyed table.
        up_to: inclusive.
    """
    if opened.change is None:
        return None
    told = [
        watermark_in(snapshot.summary.additional_properties)
        for snapshot in opened.change.metadata.snapshots
        if snapshot.summary is not None and (snapshot.sequence_number or 0) <= up_to
    ]
    return max((each for each in told if each is not None), default=None)
