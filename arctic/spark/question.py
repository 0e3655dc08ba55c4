"""What a scan of ``ArcticTable.java`` asks of its reader, and how the reader answers.

The question is JSON in the metadata of the first requested column. The answer is an input
partition in front of the others, which the scan takes away: Spark offers no other way back.

Must not know: filters, tables.
"""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import StructType

from arctic.table.snapshot import TableSnapshot

QUESTION_KEY = "arctic.question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a scan knows of its query."""

    hints: Sequence[Any]
    """Filters as nested lists; see ``hints``."""
    parallelism: int
    """Cores that Spark has for the query."""
    snapshot: TableSnapshot | None
    """What another scan of the same query has pinned."""


def question_of(requested: StructType) -> Question | None:
    """Return what was asked; None where Spark itself plans the scan."""
    if not requested.fields or QUESTION_KEY not in requested.fields[0].metadata:
        return None
    asked = json.loads(requested.fields[0].metadata[QUESTION_KEY])
    pin = asked["pin"]
    return Question(
        hints=asked["hints"],
        parallelism=asked["parallelism"],
        snapshot=pickle.loads(base64.b64decode(pin)) if pin else None,
    )


def answer(snapshot: TableSnapshot | None) -> str:
    """Return the value of the partition that answers; without a snapshot, nothing was pinned."""
    pin = "" if snapshot is None else base64.b64encode(pickle.dumps(snapshot)).decode()
    return f"<pin>{pin}</pin>"
