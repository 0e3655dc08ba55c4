"""What shows a test of others here: ids of cases, names of tests, or why nothing does."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Reason(Enum):
    """Why a test has no counterpart."""

    NESTED = "not so here: what is within a column is not changed, which the statement says"
    SPECS = "about tables whose partitions changed: Arctic's keep those that they were made with"


BRANCH = "test_a_session_works_on_its_branch"
TWO_BRANCHES = "test_a_session_with_a_branch_takes_no_other"
BESIDE = "test_a_command_is_done_again_if_others_commit_before_it"
CACHED = "test_what_spark_has_cached_shows_the_rows_after_a_command"
PRUNED = "test_files_that_a_condition_leaves_out_are_not_opened"
WEAKER = "test_the_weaker_level_lets_rows_of_others_pass"
WHOLE = "test_files_and_partitions_go_whole_where_no_row_is_left"
Shown = Mapping[str, str | tuple[str, ...] | Reason]
