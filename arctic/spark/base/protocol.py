"""What the JVM asks Python, and how Python answers: the other half of ``Protocol.java``.

A question is JSON whose ``ask`` says which record it is, with the record's fields; the answer is
JSON of the fields of the answer's record, or null, where Spark does without. A golden file holds
both halves to the same words.

A worker that plans a scan is asked by the metadata of the first column that it must return, and
answers by an input partition in front of the others, which the scan takes away: Spark offers no
other way.

Must not know: how anything is answered.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from pyspark.sql.types import StructType

from arctic.spark.base.catalog_protocol import CatalogAnswer, FailureKind
from arctic.spark.base.catalog_questions import CATALOG_QUESTIONS, CatalogQuestion
from arctic.spark.base.partial_protocol import (
    BeginAnswer,
    BeginQuestion,
    PartialAnswer,
    PartialQuestion,
)

QUESTION_KEY = "arctic.question"
_OPENS, _CLOSES = "<answer>", "</answer>"
_TEXT_BYTES = 3 * 2**20
"""A multiple of three, so that the texts of some bytes are one text cut in pieces. Spark's JSON
refuses one of more than 20 M characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceQuestion:
    """What names the table of a view, with its warehouse written out?"""

    options: Mapping[str, str]
    """Of the view."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceAnswer:
    """The options of a view that mean the same wherever they are read."""

    options: Mapping[str, str]


Hint = Sequence[Any]
"""The name of a predicate of Spark, then its operands: hints, columns as ``{COLUMN: name}``, and
literals, internal as Iceberg's, as ``{VALUE: 5}``, ``{DECIMAL: "1.5"}``, ``{BINARY: base64}``."""
COLUMN, VALUE, DECIMAL, BINARY = "column", "value", "decimal", "binary"


Grouping = Sequence[Any]
"""A function that puts rows into groups, the names of its columns, the number of the groups:
``["node(long)", ["id"], 4]``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanQuestion:
    """What a scan knows of its query."""

    hints: Sequence[Hint]
    """What Spark filters by; all of them must hold."""
    parallelism: int
    """Cores that Spark has for the query."""
    query: str | None
    """Its name, the same in all that is asked while it is planned; None: it has none."""
    pin: str | None
    """What another scan of the same query was told; None: this one is the first."""
    spark_reads: bool
    """Whether Spark itself reads files that no delete can touch."""
    takes_vectors: bool
    """Whether it can also leave rows out of those that have deletes."""
    takes_groups: bool
    """Whether it wants to know in which groups rows of equal keys can be read together."""
    limit: int | None
    """Rows of the scan that the query wants at most, whichever they are; None: all of them."""
    groups: Grouping | None
    """In which the rows are wanted, one of ``ScanAnswer.groupings`` with a divisor of its number;
    None: in any. What must be merged then has a partition for each group, in order, or none."""
    required: Sequence[str]
    """Columns of the relation in which Spark looks for no null, whether the scan wants them or not:
    ``count(n)`` of one is a count of rows to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanAnswer:
    """What a scan is told of its plan."""

    pin: str
    """The state of the table, for the other scans of the query; empty: nothing is pinned."""
    size_bytes: int
    """Of all data files that are read, all their columns."""
    rows: int | None
    """In them, deleted ones too; None: not known."""
    merged: int
    """How many of the partitions that follow have to be merged. Those after them hold other files:
    they are read unless Spark reads the files itself."""
    paths: Sequence[str]
    """Of these other files; those with deletes come first."""
    field_ids: Sequence[int]
    """Of the columns that the scan wants: by them Spark finds the columns in these files."""
    row_counts: Sequence[int]
    """Of each file that has deletes."""
    work: Sequence[Sequence[str]] | None
    """Asks for the dead rows of these in shares, one file after the other, each of them as
    ``DeadRowsQuestion``; None: all are clean."""
    verifies_pages: bool
    """Whether Spark compares pages of these files with their checksums, whatever it does else."""
    settings: Mapping[str, str] = field(repr=False)
    """Of Hadoop, by which the files are reached; keys among them. They are not printed."""
    hindrance: str | None
    """Why Spark is given no files, or not all that it would read; None: nothing hinders."""
    groupings: Sequence[Sequence[Any]]
    """In which rows of equal keys can be read together; nothing where the scan takes none. Each as
    ``Grouping``, with the bytes of each group instead of their number."""
    file_groups: Sequence[int]
    """Of each path, where groups are wanted; else nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuestion:
    """How is a scan to be read?"""

    options: Mapping[str, str]
    """Of the relation."""
    schema: Mapping[str, Any]
    """The columns that the scan wants, as Spark writes a ``StructType``."""
    scan: ScanQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAnswer:
    """How executors read what was planned here."""

    function: str
    """In base64, pickled: what a worker runs on the partitions, and the type of what it yields."""
    partitions: Sequence[str]
    """In base64, each pickled."""
    scan: ScanAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregatesQuestion:
    """What are the aggregates over all rows?"""

    options: Mapping[str, str]
    """Of the relation."""
    schema: Mapping[str, Any]
    """The columns that the query takes the table to have, as Spark writes a ``StructType``."""
    aggregates: Sequence[Sequence[str]]
    """For each of them its kind, then its column unless it counts rows:
    ``[["count(*)"], ["max", "id"]]``."""
    query: str | None
    """As in ``ScanQuestion``."""
    pin: str | None
    """Likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregatesAnswer:
    """What metadata says of all rows."""

    values: Sequence[Any]
    """In Iceberg's internal form: null, a number, or a decimal as its text."""
    pin: str
    """The state that was asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadRowsQuestion:
    """Which rows of a share of the files that a plan told of are dead?"""

    work: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadRowsAnswer:
    """A bit for each row, one file after the other, each file's in whole bytes."""

    bits: Sequence[str]
    """In base64, cut as ``texts_of`` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An answer to any question that becomes an error of the query."""

    error: str
    kind: str = FailureKind.OTHER.value
    """What a catalog's failure is to Spark."""


Question = (
    PlaceQuestion
    | PlanQuestion
    | AggregatesQuestion
    | PartialQuestion
    | BeginQuestion
    | DeadRowsQuestion
    | CatalogQuestion
)
Answer = (
    PlaceAnswer
    | PlanAnswer
    | AggregatesAnswer
    | PartialAnswer
    | BeginAnswer
    | DeadRowsAnswer
    | CatalogAnswer
    | Failure
)

QUESTIONS: Mapping[str, type[Question]] = {
    "place": PlaceQuestion,
    "plan": PlanQuestion,
    "aggregates": AggregatesQuestion,
    "partial": PartialQuestion,
    "begin": BeginQuestion,
    "dead_rows": DeadRowsQuestion,
    **CATALOG_QUESTIONS,
}
"""By what ``ask`` says."""


def read_question(text: str) -> Question:
    """Return what the JVM asked.

    Raises:
        TypeError: a field is missing or too many.
        KeyError: nobody asks that.
    """
    asked = json.loads(text)
    kind = QUESTIONS[asked.pop("ask")]
    if kind is PlanQuestion:
        asked["scan"] = ScanQuestion(**asked["scan"])
    return kind(**asked)


def answer_text(answer: Answer) -> str:
    """Return an answer as the JVM reads it."""
    return _json(answer)


def asked_of_worker(requested: StructType) -> ScanQuestion | None:
    """Return what a scan asks the worker that plans it; None where Spark itself plans it."""
    if not requested.fields or QUESTION_KEY not in requested.fields[0].metadata:
        return None
    return ScanQuestion(**json.loads(requested.fields[0].metadata[QUESTION_KEY]))


def answered_by_worker(answer: ScanAnswer) -> str:
    """Return the value of the partition by which a worker answers.

    The JVM looks for it in a pickle, so its end stands nowhere within.
    """
    text = _json(answer).replace("<", "\\u003c")
    return f"{_OPENS}{text}{_CLOSES}"


def texts_of(data: bytes) -> list[str]:
    """Return bytes in base64, in texts of a length that any reader of JSON takes."""
    return [
        base64.b64encode(data[start : start + _TEXT_BYTES]).decode()
        for start in range(0, len(data), _TEXT_BYTES)
    ]


def bytes_of(texts: Sequence[str]) -> bytes:
    """Return what ``texts_of`` was given."""
    return base64.b64decode("".join(texts))


def _json(value: Any) -> str:
    return json.dumps(value, default=_fields)


def _fields(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}
