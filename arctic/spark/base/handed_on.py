"""What the JVM hands from one call to the next and Python alone reads: pinned states, and work.

Must not know: the questions that carry it.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Sequence

from arctic.job.vectors.vector_work import VectorWork
from arctic.spark.base.protocol import bytes_of, texts_of
from arctic.table.snapshot import TableSnapshot


def pin_text(snapshot: TableSnapshot | None) -> str:
    """Return a snapshot as the scans of a query hand it on; empty for None."""
    return base64.b64encode(pickle.dumps(snapshot)).decode() if snapshot is not None else ""


def pinned_snapshot(pin: str | None) -> TableSnapshot | None:
    """Return what ``pin_text`` was given."""
    return pickle.loads(base64.b64decode(pin)) if pin else None


def pinned_snapshots(pins: Sequence[str]) -> list[TableSnapshot]:
    """Return what ``pin_text`` was given, without the texts that pin nothing."""
    found = [pinned_snapshot(pin) for pin in pins]
    return [snapshot for snapshot in found if snapshot is not None]


def work_texts(work: VectorWork) -> list[str]:
    """Return work in the form in which a query asks for it to be done."""
    return texts_of(pickle.dumps(work))


def work_of(texts: Sequence[str]) -> VectorWork:
    """Return what ``work_texts`` was given."""
    work: VectorWork = pickle.loads(bytes_of(texts))
    return work
