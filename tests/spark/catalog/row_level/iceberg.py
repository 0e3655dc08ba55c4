"""Which of our cases shows what a row-level test of Iceberg's Spark extensions checks.

Names are those of the tests in apache/iceberg, ``spark/v4.1/spark-extensions``, without what all of
a command begin with. A value is the ids of our cases, where a number behind an id is left out, and
names of our tests; or why there can be none.
``python -m tests.spark.catalog.row_level.iceberg`` counts them.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.spark.catalog.row_level import (
    deletes,
    merge_evolution,
    merge_more,
    merge_refusals,
    merges,
    updates,
)
from tests.spark.catalog.row_level.iceberg_merge import EVOLUTION, MERGE
from tests.spark.catalog.row_level.shown import (
    BESIDE,
    BRANCH,
    CACHED,
    PRUNED,
    TWO_BRANCHES,
    WEAKER,
    WHOLE,
    Reason,
    Shown,
)

UPDATE: Shown = {
    "VectorizedReads": "of one partition of two",
    "Coalesce": "half of many commits",
    "Skew": "half of many commits in one partition",
    "Explain": ("explained", "explained, of all"),
    "EmptyTable": ("an empty table", "an empty table's keys"),
    "NonExistingCustomBranch": "of a branch that is not there",
    "Alias": "with an alias",
    "AlignsAssignments": "in another order than the columns",
    "UnsupportedPartitionPredicate": "like, of partitions",
    "DynamicFileFiltering": "of one partition of two",
    "NonExistingRecords": "nothing of partitions",
    "WithoutCondition": "every row of partitions",
    "NullConditions": ("equal to null", "to what is not there", "where null"),
    "InAndNotInConditions": (
        "in a list with null",
        "outside a list with null",
        "outside a list",
    ),
    "MultipleRowGroupsParquet": "of one row group of several",
    "NestedStructFields": ("fields in a struct", "fields to null", "a whole struct"),
    "UserDefinedDistribution": "a table that is kept in order",
    "SerializableIsolation": BESIDE,
    "SnapshotIsolation": WEAKER,
    "InferredCasts": "a number for a text",
    "ModifiesNullStruct": "a field of null",
    "RefreshesRelationCache": CACHED,
    "InSubquery": ("in two queries", "null or in a query", "in a query and equal"),
    "InSubqueryAndDynamicFileFiltering": "a partition by a query",
    "SelfSubquery": ("in a query of itself", "a count of itself", "all to a row of itself"),
    "MultiColumnInSubquery": "pairs in a query",
    "NotInSubquery": ("not in nulls", "not in a whole query", "not in a query or in a list"),
    "ExistSubquery": (
        "exists nothing",
        "exists with a sum",
        "exists or null",
        "exists twice",
    ),
    "NotExistsSubquery": (
        "not exists with nulls",
        "not exists or equal",
        "not exists and exists",
    ),
    "ScalarSubquery": "below a scalar query",
    "ThatRequiresGroupingBeforeWrite": "of many commits by one task",
    "Vectorization": "all to one number",
    "ModifyPartitionSourceField": "keys of buckets and of partitions",
    "StaticPredicatePushdown": PRUNED,
    "InvalidUpdates": "a field of what is no struct",
    "ConflictingAssignments": "twice what it holds",
    "InvalidAssignmentsAnsi": (
        "null where none may be",
        "a struct without a field",
        "a text for a number",
    ),
    "InvalidAssignmentsStrict": (
        "strictly null",
        "strictly a struct without a field",
        "strictly a text for a number",
    ),
    "NonDeterministicCondition": "at random",
    "OnNonIcebergTableNotSupported": "of a view",
    "ToWAPBranch": BRANCH,
    "ToWapBranchWithTableBranchIdentifier": TWO_BRANCHES,
}
DELETE: Shown = {
    "VectorizedReads": "of one partition of two",
    "Coalesce": "half of many commits",
    "Skew": "half of many commits in one partition",
    "WithoutScanningTable": PRUNED,
    "FileThenMetadataDelete": WHOLE,
    "PartitionedTable": WHOLE,
    "FalseCondition": "never both",
    "FromEmptyTable": ("an empty table", "an empty table by another column"),
    "FromNonExistingCustomBranch": "of a branch that is not there",
    "Explain": ("explained", "explained, of all"),
    "Alias": "with an alias",
    "DynamicFileFiltering": "of one partition of two",
    "NonExistingRecords": "nothing of partitions",
    "SingleRecordProducesDeleteOperation": WHOLE,
    "WithoutCondition": "every partition",
    "UsingMetadataWithComplexCondition": "partitions by comparisons",
    "ArbitraryPartitionPredicates": "like, of partitions",
    "NonDeterministicCondition": "at random",
    "FoldableConditions": ("false", "false by numbers", "null by numbers", "always true"),
    "NullConditions": ("equal to null", "no partition of that name", "a null partition"),
    "InAndNotInConditions": (
        "numbers and null in a list",
        "numbers outside a list with null",
        "numbers outside a list",
    ),
    "MultipleRowGroupsParquet": "of one row group of several",
    "ConditionOnNestedColumn": ("by a nested field and the key", "by a nested field"),
    "InSubquery": ("two queries", "null or in a query", "in a query and equal"),
    "MultiColumnInSubquery": "pairs in a query",
    "NotInSubquery": (
        "not in a query with null",
        "not in a whole query",
        "not in a query or in a list",
        "not in a query and exists",
        "not in a query or exists",
    ),
    "OnNonIcebergTableNotSupported": "test_tables_of_others_take_no_delete",
    "ExistSubquery": ("exists nothing", "exists with a sum", "exists or null", "exists twice"),
    "NotExistsSubquery": (
        "not exists twice",
        "not exists with nulls",
        "not exists or equal",
    ),
    "ScalarSubquery": "below a scalar query",
    "ThatRequiresGroupingBeforeWrite": "of many commits by one task",
    "SerializableIsolation": BESIDE,
    "SnapshotIsolation": WEAKER,
    "RefreshesRelationCache": CACHED,
    "MultipleSpecs": Reason.SPECS,
    "ToWapBranch": BRANCH,
    "ToWapBranchWithTableBranchIdentifier": TWO_BRANCHES,
    "ToCustomWapBranchWithoutWhereClause": BRANCH,
    "ToWapBranchCanDeleteWhereScansWapBranch": BRANCH,
    "MetadataDeleteToWapBranchCommitsToWapBranch": BRANCH,
    "FilterOnNestedColumn": (
        "by a nested field that none has",
        "by a nested field",
        "by a nested field with an alias",
    ),
}
ALL = {"UPDATE": UPDATE, "DELETE": DELETE, "MERGE": MERGE, "MERGE, columns": EVOLUTION}
CASES = {
    "DELETE": deletes.DELETES,
    "UPDATE": updates.UPDATES,
    "MERGE": [*merges.MERGES, *merge_more.MERGES, *merge_refusals.MERGES],
    "MERGE, columns": merge_evolution.EVOLUTIONS,
}


def named(shown: str | tuple[str, ...] | Reason) -> tuple[str, ...]:
    """Return the ids that a value names."""
    if isinstance(shown, Reason):
        return ()
    return (shown,) if isinstance(shown, str) else shown


def lines() -> Iterable[str]:
    """Return the counts, and why tests have no counterpart."""
    every = [each for shown in ALL.values() for each in shown.values()]
    right = sum(not isinstance(each, Reason) for each in every)
    yield f"{right} of {len(every)} right: {right / len(every):.1%}"
    for name, shown in ALL.items():
        out = [each for each in shown.values() if isinstance(each, Reason)]
        yield f"{name}: {len(shown)}, of them right {len(shown) - len(out)}, left out {len(out)}"
    for reason in Reason:
        tests = [
            f"{name} {test}"
            for name, shown in ALL.items()
            for test, each in shown.items()
            if each is reason
        ]
        yield f"left out, {reason.value}: {', '.join(tests)}"


if __name__ == "__main__":
    print("\n".join(lines()))
