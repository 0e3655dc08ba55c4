"""What a catalog of Spark asks Python; ``catalog_protocol`` has what it is answered.

What it asks of namespaces alone is in ``namespace_questions``. ``CatalogQuestions.java`` is the
other half; a golden file holds both to the same words.

Rules:
    - A name is its parts: those of the namespace, then the table's.
    - ``catalog`` is the configuration of the catalog: what stands behind its name in
      ``spark.sql.catalog.<name>.<option>``.

Must not know: how anything is answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arctic.spark.base.namespace_questions import (
    AlterNamespaceQuestion,
    CreateNamespaceQuestion,
    DropNamespaceQuestion,
    Name,
    NamespaceQuestion,
    NamespacesQuestion,
)

Transform = Sequence[Any]
"""The name of a transform, its width where it has one, its column. A question has the column as
``{"column": name}``, at whatever place the user wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesQuestion:
    """Which tables are in a namespace?"""

    catalog: Mapping[str, str]
    name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuestion:
    """What is a table, now or in the past?"""

    catalog: Mapping[str, str]
    name: Name
    version: str | None
    """What stands behind VERSION AS OF."""
    microseconds: int | None
    """What stands behind TIMESTAMP AS OF, since 1970-01-01 UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogQuestion:
    """What are the changes of a table's rows in a range?"""

    catalog: Mapping[str, str]
    name: Name
    start: str | int | None
    """A version as a text, or microseconds since 1970-01-01 UTC; None: from the first commit on."""
    start_inclusive: bool
    end: str | int | None
    """Likewise; None: up to the newest."""
    end_inclusive: bool
    is_net: bool
    """Whether the range is one change; else each commit is."""
    tells_updates: bool
    """Whether both sides of an update are called so; else they are a delete and an insert."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableQuestion:
    """Make a table."""

    catalog: Mapping[str, str]
    name: Name
    schema: Mapping[str, Any]
    """As Spark writes a ``StructType``."""
    partitions: Sequence[Transform]
    properties: Mapping[str, str]
    constraints: Sequence[Mapping[str, Any]]
    """Each with its ``text`` and the columns of a ``primary_key``, none for other kinds."""
    stage: str | None
    """``create``, ``replace`` or ``create_or_replace``: rows follow, and then ``SettleQuestion``;
    None: the table is whole as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleQuestion:
    """Is a table that was staged to stay?"""

    staged: str
    """As answered when it was made."""
    keeps: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTableQuestion:
    """Change a table."""

    catalog: Mapping[str, str]
    name: Name
    changes: Sequence[Mapping[str, Any]]
    """Each with its ``kind``; the golden file has all. A ``column_type`` is a row of one column."""
    of_pipeline: bool
    """Whether a pipeline asks, not a statement: it fits the table to what its flows write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTableQuestion:
    """Remove a table."""

    catalog: Mapping[str, str]
    name: Name
    purge: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTableQuestion:
    """Give a table another name."""

    catalog: Mapping[str, str]
    name: Name
    new_name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveQuestion:
    """Write the rows of a frame, which comes beside the question."""

    options: Mapping[str, str]
    """Of the table, with those of the write."""
    overwrites: bool
    """Whether rows are replaced; which ones, ``where`` or the options say."""
    where: Sequence[Any] | None
    """Hints, as a scan has them, that must all hold for the partitions that are replaced."""
    pins: Sequence[str]
    """States in which the query has read the table already; or another one of the same path."""
    is_statement: bool
    """Whether it names the tables that it reads, as SQL does; else it is a ``save()`` by format."""
    is_new: bool
    """Whether the table was made for these rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteQuestion:
    """Remove the rows for which a condition is true."""

    options: Mapping[str, str]
    """Of the table."""
    where: Sequence[Any]
    """Hints, as a scan has them, that must all hold; none: all rows."""
    only_asks: bool
    """Whether it is only to be said whether metadata is enough for it; nothing is removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsQuestion:
    """Which partitions have files?"""

    options: Mapping[str, str]
    """Of the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLevelQuestion:
    """Write what becomes of the rows of a DELETE, UPDATE or MERGE, which come beside it."""

    options: Mapping[str, str]
    """Of the table, with those of the write."""
    command: str
    """For messages."""
    rows: str
    """What they are: keys to ``delete``, whole rows to ``upsert``, rows with ``actions``, or those
    of the ``source`` of a MERGE, its key and what is set, which may be left undone."""
    once: str | None
    """``source``: a key that several of its rows have is refused; ``target``: one that several rows
    of the table are given; None: no key is refused for that."""
    checks_inserts: bool
    """Whether an inserted key may be stored already, and is refused then."""
    is_blind: bool
    """Whether the rows were made without a look at the table."""
    tells_places: bool
    """Whether each row says in which partition the stored one is that it deletes or replaces."""
    reads: str | None
    """What the command read of the table: the rows that fulfil ``where``; all that is stored or
    missing under the ``keys`` that fulfil it; the rows whose keys are ``written``; None: perhaps
    any row."""
    where: Sequence[Any]
    """Conditions, each as ``Hints.java`` writes it."""
    pins: Sequence[str]
    """States in which subqueries have read the table already; or another one of the same path."""
    is_planned: bool
    """Whether some scan of the command is planned already, and would not be planned anew."""
    sets: Mapping[str, Any] | None
    """All that is done is to give columns these values in the rows that fulfil ``where``, and
    exactly in them, as ``SetValues.java`` writes it; a DELETE gives none. None: more is to be known
    of a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtQuestion:
    """Which rows does a MERGE seek? The values that they must equal may come beside it."""

    options: Mapping[str, str]
    """Of the table."""
    columns: Sequence[str | None]
    """For each of the values the column that is compared with it, and has its type; None: what is
    made of a column is."""
    source_bytes: int | None
    """Of the source, as Spark thinks; None: it does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProceduresQuestion:
    """Which procedures are in a namespace; in none: which are there at all?"""

    catalog: Mapping[str, str]
    name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureQuestion:
    """What is a procedure?"""

    catalog: Mapping[str, str]
    name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class CallQuestion:
    """Run a procedure."""

    catalog: Mapping[str, str]
    catalog_name: str
    """With which the name of a table may begin."""
    name: Name
    """As answered: that of the procedure alone."""
    arguments: Mapping[str, Any]
    """All of them by name, null where the default is; a time is its microseconds."""


CatalogQuestion = (
    TablesQuestion
    | TableQuestion
    | ChangelogQuestion
    | CreateTableQuestion
    | SettleQuestion
    | AlterTableQuestion
    | DropTableQuestion
    | RenameTableQuestion
    | NamespacesQuestion
    | NamespaceQuestion
    | CreateNamespaceQuestion
    | AlterNamespaceQuestion
    | DropNamespaceQuestion
    | SaveQuestion
    | PartitionsQuestion
    | DeleteQuestion
    | RowLevelQuestion
    | SoughtQuestion
    | ProceduresQuestion
    | ProcedureQuestion
    | CallQuestion
)
CATALOG_QUESTIONS: Mapping[str, type[CatalogQuestion]] = {
    "tables": TablesQuestion,
    "table": TableQuestion,
    "changelog": ChangelogQuestion,
    "create_table": CreateTableQuestion,
    "settle": SettleQuestion,
    "alter_table": AlterTableQuestion,
    "drop_table": DropTableQuestion,
    "rename_table": RenameTableQuestion,
    "namespaces": NamespacesQuestion,
    "namespace": NamespaceQuestion,
    "create_namespace": CreateNamespaceQuestion,
    "alter_namespace": AlterNamespaceQuestion,
    "drop_namespace": DropNamespaceQuestion,
    "save": SaveQuestion,
    "partitions": PartitionsQuestion,
    "delete": DeleteQuestion,
    "row_level": RowLevelQuestion,
    "sought": SoughtQuestion,
    "procedures": ProceduresQuestion,
    "procedure": ProcedureQuestion,
    "call": CallQuestion,
}
"""By what ``ask`` says."""
