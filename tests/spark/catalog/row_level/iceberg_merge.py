"""The tests of MERGE among those of ``iceberg``."""

from __future__ import annotations

from tests.spark.catalog.row_level.shown import BESIDE, CACHED, PRUNED, WEAKER, Reason, Shown

MERGE: Shown = {
    "AllClauses": "all clauses",
    "AllClausesUsingDataFrameAPI": "test_a_frame_merges_by_every_clause",
    "OneNotMatchedBySourceClause": "only what the source lacks",
    "NotMatchedBySourceClausesPartitionedTable": "partitions of what the source lacks",
    "VectorizedReads": "a column of some, and an insert of constants",
    "Coalesce": "many commits",
    "Skew": "many commits in one partition",
    "ConditionSplitIntoTargetPredicateAndJoinCondition": "a condition of partitions",
    "StaticPredicatePushDown": PRUNED,
    "IntoEmptyTargetInsertAllNonMatchingRows": "inserts into an empty table",
    "IntoEmptyTargetInsertOnlyMatchingRows": "some inserts into an empty table",
    "OnlyUpdateClause": "an update of some",
    "OnlyUpdateNullUnmatchedValues": "a key and a value by constants",
    "OnlyUpdateSingleFieldNullUnmatchedValues": "a key by a constant",
    "OnlyDeleteNullUnmatchedValues": ("deletes alone", "a null key that deletes nothing"),
    "OnlyUpdateClauseAndNullValues": "rows with null are left alone",
    "OnlyDeleteClause": "a delete of some of the table",
    "MatchedAndNotMatchedClauses": "each clause with a condition, keyed",
    "AllCausesWithExplicitColumnSpecification": "each clause with its columns",
    "SourceCTE": "a computed key of a common table expression",
    "SourceFromSetOps": "each clause with a condition, keyed",
    "OneMatchingBranchButMultipleSourceRowsForTargetRow": (
        "several rows, none of which does anything"
    ),
    "MultipleUpdatesForTargetRowSmallTargetLargeSource": "a large source",
    "MultipleUpdatesForTargetRowSmallTargetLargeSourceEnabledHashShuffleJoin": (
        "a large source, hashed"
    ),
    "MultipleUpdatesForTargetRowSmallTargetLargeSourceNoEqualityCondition": (
        "a large source, unequal"
    ),
    "MultipleUpdatesForTargetRowSmallTargetLargeSourceNoNotMatchedActions": (
        "a large source, no insert"
    ),
    "MultipleUpdatesForTargetRowSmallTargetLargeSourceNoNotMatchedActionsNoEqualityCondition": (
        "a large source, unequal, no insert"
    ),
    "MultipleUpdatesForTargetRow": "several rows under conditions",
    "UnconditionalDelete": "several rows that delete one beside an insert",
    "SingleConditionalDelete": "several rows that delete under a condition",
    "IdentityTransform": "each clause with a condition, parted",
    "DaysTransform": "each clause with a condition, days",
    "BucketTransform": "each clause with a condition, bucketed",
    "TruncateTransform": "each clause with a condition, cut",
    "IntoPartitionedAndOrderedTable": "each clause with a condition, sorted",
    "Self": "itself",
    "SelfWithCaching": CACHED,
    "SourceAsSelfSubquery": "a source that is joined with the table",
    "SerializableIsolation": BESIDE,
    "SnapshotIsolation": WEAKER,
    "ExtraColumnsInSource": "a source with more columns",
    "NullsInTargetAndSource": "null equals nothing",
    "NullSafeEquals": "null equals null",
    "NullCondition": "null as a condition",
    "NullActionConditions": ("an unknown condition is not true", "update under null, delete"),
    "MultipleMatchingActions": "the first clause that is true",
    "MultipleRowGroupsParquet": "one row group of several",
    "InsertOnly": "inserts that are alike beside the key",
    "InsertOnlyWithCondition": "inserts under a condition that the source alone has",
    "AlignsUpdateAndInsertActions": "names of the source, in another order",
    "MixedCaseAlignsUpdateAndInsertActions": "names in other letters",
    "UpdatesNestedStructFields": ("fields in a struct", "fields to null", "a whole struct"),
    "InferredCasts": "a number for a text",
    "ModifiesNullStruct": "a field of null",
    "RefreshesRelationCache": CACHED,
    "MultipleNotMatchedActions": "an insert of another key, and of all others",
    "MultipleConditionalNotMatchedActions": "several inserts under conditions",
    "ResolvesColumnsByName": "columns in another order",
    "ShouldResolveWhenThereAreNoUnresolvedExpressionsOrColumns": "a condition without a column",
    "TableWithNonNullableColumn": "each clause with a condition, required columns",
    "NonExistingColumns": ("no such column", "no such field"),
    "InvalidColumnsInInsert": (
        "an insert of a field",
        "twice what it holds",
        "an insert without a required column",
    ),
    "MissingOptionalColumnsInInsert": "inserts of a few columns",
    "InvalidUpdates": "a field of what is no struct",
    "ConflictingUpdates": "twice what it holds",
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
    "NonDeterministicConditions": "at random",
    "AggregateExpressions": "an aggregate",
    "SubqueriesInConditions": "a query",
    "TargetColumnsInInsertConditions": "the table's column in an insert",
    "NonIcebergTargetTableNotSupported": "of a view",
    "SinglePartitionPartitioning": "one task",
    "EmptyTable": "one task, an empty table",
    "NonExistingBranch": "of a branch that is not there",
    "ToWapBranch": Reason.BRANCH,
    "ToWapBranchWithTableBranchIdentifier": Reason.BRANCH,
}
EVOLUTION: Shown = {
    "SourceHasMoreColumns": "a source with a column more",
    "SourceHasFewerColumns": "a source with a column less",
    "UsingDataFrameApi": "test_a_frame_merges_by_every_clause",
    "NestedStructSourceHasMoreFields": Reason.NESTED,
    "NestedStructSourceHasFewerFields": "a source with a field less",
    "TypeWidening": "a source with a wider number",
    "DisabledByTableProperty": "a column more that a property keeps out",
}
