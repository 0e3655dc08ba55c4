"""What shows a test of others here: ids of cases, names of tests, or why nothing does."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Reason(Enum):
    """Why a test has no counterpart."""

    BRANCH = "about branches, which Arctic does not have: it has tags and restores"
    ISOLATION = "about the weaker of Iceberg's isolation levels: commands are serialisable here"
    NESTED = "not so here: what is within a column is not changed, which the statement says"
    OWN = "about a table property of Iceberg's own, by which a table refuses new columns"
    SPECS = "about tables whose partitions changed: Arctic's keep those that they were made with"


BESIDE = "test_a_command_is_done_again_if_others_commit_before_it"
CACHED = "test_what_spark_has_cached_shows_the_rows_after_a_command"
PRUNED = "test_files_that_a_condition_leaves_out_are_not_opened"
WHOLE = "test_files_and_partitions_go_whole_where_no_row_is_left"
Shown = Mapping[str, str | tuple[str, ...] | Reason]
