"""Why a test of Spark's is left out: told by its name, or by what its failure says."""

from __future__ import annotations

_DEFAULTS = "default values of columns"
_PADDING = "char and varchar, which are strings here, without padding"
_PLANS = "how Spark plans a command of its own, which Arctic plans by rules of its own"
_NULLS = "NOT NULL for a column of a table that may have nulls"
BY_NAME = {
    "AlterTable: change rejected by implementation": "the words of an error",
    "AlterTable: set table property": "properties that tell where a table is",
    "AlterTable: remove table property": "properties that tell where a table is",
    "merge with default values": _DEFAULTS,
    "update with default values": _DEFAULTS,
    "merge with char/varchar columns": _PADDING,
    "update char/varchar columns": _PADDING,
    "merge cardinality check with conditional MATCHED clause (delete)": (
        "several rows of a source of which one acts, where a MERGE reads nothing of its table"
    ),
    "nullable row ID attrs": "names of metadata columns that are the catalog's in memory",
}
BY_FAILURE = {
    "InMemory": "what the catalog in memory was asked, and was handed",
    "a default value needs": _DEFAULTS,
    "does not support column default": _DEFAULTS,
    "UpdateColumnDefaultValue": _DEFAULTS,
    "already have no value for it": _NULLS,
    "SET NOT NULL is not known": _NULLS,
    "what is within a column is not changed": "changes within a struct, a list or a map",
    "REPLACE COLUMNS would empty": "REPLACE COLUMNS that would empty a column",
    "AddConstraint is not known": "CHECK constraints",
    "has no Iceberg type": "types that Iceberg does not have",
    "an entry of Spark's own catalog": "tables in Spark's own catalog",
    "tables of this catalog are arctic's": "tables of another format than Arctic's",
    "unexpected executed plan": _PLANS,
    "but got 2 (RowLevelOperationSuiteBase": _PLANS,
    # A test that takes the plan of a query apart; any other of these errors is one to look at.
    "scala.MatchError: List(== Parsed Logical Plan": _PLANS,
}
"""By a part of its first line."""


def reason_of(name: str, failure: str) -> str | None:
    """Return why; None: nobody has looked at it."""
    found = (reason for part, reason in BY_FAILURE.items() if part in failure)
    if "changes after analysis" in name or "re-added after analysis" in name:
        return "frames that are older than the columns of their table, which Spark refuses itself"
    return BY_NAME.get(name) or next(found, None)
