"""What a scan of ``ArcticTable.java`` asks of its reader, and how the reader answers.

The question is JSON in the metadata of the first requested column. The answer is an input
partition in front of the others, which the scan takes away: Spark offers no other way back.

Must not know: filters, how a table is read.
"""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import StructType

from arctic.job.vector_work import VectorWork
from arctic.table.files import KeyedFile
from arctic.table.snapshot import TableSnapshot

QUESTION_KEY = "arctic.question"

_TEXT_BYTES = 3 * 2**20
"""A multiple of three, so that the texts of some bytes are one text cut in pieces. Spark's JSON
refuses one of more than 20 M characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a scan knows of its query."""

    hints: Sequence[Any]
    """Filters as nested lists; see ``hints``."""
    parallelism: int
    """Cores that Spark has for the query."""
    spark_reads: bool
    """Whether Spark itself reads files that no delete can touch."""
    snapshot: TableSnapshot | None
    """What another scan of the same query has pinned."""
    takes_vectors: bool = False
    """Whether it can also leave rows out of those that have deletes."""
    limit: int | None = None
    """Rows of the scan that the query wants at most, whichever they are; None: all of them."""


def question_of(requested: StructType) -> Question | None:
    """Return what was asked; None where Spark itself plans the scan."""
    if not requested.fields or QUESTION_KEY not in requested.fields[0].metadata:
        return None
    asked = json.loads(requested.fields[0].metadata[QUESTION_KEY])
    return Question(
        hints=asked["hints"],
        parallelism=asked["parallelism"],
        spark_reads=asked["reads"],
        snapshot=pinned_snapshot(asked["pin"]),
        takes_vectors=asked.get("vectors", False),
        limit=asked.get("limit"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a scan is told of its plan."""

    snapshot: TableSnapshot | None = None
    """What was pinned; None: nothing, as for a metadata table."""
    size_bytes: int = 0
    """Of all data files that are read, all their columns."""
    rows: int | None = None
    """In them, deleted ones too; None: not known."""
    merged: int = 0
    """How many of the partitions that follow have to be merged. Those after them hold other files:
    they are read unless Spark reads the files itself."""
    files: Sequence[KeyedFile] = ()
    """These other files; those with deletes come first."""
    work: VectorWork | None = None
    """Tells which rows of the first files are dead; None: all are clean."""
    verifies_pages: bool = False
    """Whether Spark compares pages of these files with their checksums, whatever it does else."""

    def text(self) -> str:
        """Return the value of the partition that answers, where a worker plans."""
        return f"<answer>{json.dumps(self.parts())}</answer>"

    def parts(self) -> dict[str, Any]:
        """Return what goes into JSON."""
        return {
            "pin": pin_text(self.snapshot),
            "bytes": self.size_bytes,
            "rows": self.rows,
            "merged": self.merged,
            "paths": [file.path for file in self.files],
            "work": None if self.work is None else work_texts(self.work),
            "verifies": self.verifies_pages,
            "dirty": [] if self.work is None else [file.record_count for file in self.work.files],
        }


def work_texts(work: VectorWork) -> list[str]:
    """Return work in the form in which a scan asks for it to be done."""
    return texts_of(pickle.dumps(work))


def work_of(texts: Sequence[str]) -> VectorWork:
    """Return what ``work_texts`` was given."""
    work: VectorWork = pickle.loads(base64.b64decode("".join(texts)))
    return work


def texts_of(data: bytes) -> list[str]:
    """Return bytes in base64, in texts of a length that any reader of JSON takes."""
    return [
        base64.b64encode(data[start : start + _TEXT_BYTES]).decode()
        for start in range(0, len(data), _TEXT_BYTES)
    ]


def pin_text(snapshot: TableSnapshot | None) -> str:
    """Return a snapshot as the scans of a query hand it on; empty for None."""
    return base64.b64encode(pickle.dumps(snapshot)).decode() if snapshot is not None else ""


def pinned_snapshot(pin: str | None) -> TableSnapshot | None:
    """Return what ``pin_text`` was given."""
    return pickle.loads(base64.b64decode(pin)) if pin else None
