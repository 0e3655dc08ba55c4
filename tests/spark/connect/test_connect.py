"""What holds for a session with its JVM beside it holds for a client of Spark Connect too.

The tests of reads, writes and the catalog run here once more, in sessions of a server that is
configured and nothing else. Those that cannot are named below, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import arctic
from tests.spark import (
    test_clean_files,
    test_default_mode,
    test_deletion_vectors,
    test_files_of_others,
    test_filters,
    test_known_aggregates,
    test_missing_columns,
    test_read,
    test_write,
)
from tests.spark.catalog import test_catalog_writes, test_procedures, test_row_level
from tests.spark.lake import NAME, Lake

pytestmark = [pytest.mark.spark, pytest.mark.slow]

LAZY = "a client analyses nothing before it must, so load() and mode() of another format say less"
JVM = "looks into the JVM, or into the process that plans and commits, which is the server's"
STREAMS = "streams are the data source's own there"
SLOW = "the same path as another one"
PLACE = "names the warehouse of SQL's catalog in this process, and the server has its own"
LEFT_OUT = {
    "test_a_wrong_read_begins_with_the_message_of_a_named_error": LAZY,
    "test_an_unknown_mode_gets_sparks_own_error": LAZY,
    "test_other_formats_do_not_learn_our_modes": LAZY,
    "test_many_row_groups_and_splits": JVM,
    "test_tasks_are_sent_no_dead_rows": JVM,
    "test_a_frame_that_is_kept_finds_the_dead_rows_of_its_time": JVM,
    "test_large_files_are_read_beside_a_merge_of_small_ones": JVM,
    "test_only_new_deletes_are_looked_up": JVM,
    "test_dead_rows_are_asked_for_once": JVM,
    "test_a_stream_without_a_mode_upserts": STREAMS,
    "test_a_stream_makes_a_table_without_a_key_where_it_is_told": STREAMS,
    "test_a_stream_keeps_what_its_rows_lack": STREAMS,
    "test_rows_are_those_of_a_merge_after_a_minor": SLOW,
    "test_a_frame_of_the_catalog_from_before_a_column_took_null_is_refused": PLACE,
    "test_fields_that_were_renamed_keep_their_values": PLACE,
}
SHARED = (
    test_read,
    test_write,
    test_default_mode,
    test_deletion_vectors,
    test_known_aggregates,
    test_clean_files,
    test_files_of_others,
    test_filters,
    test_missing_columns,
)
"""Of SQL a few: the server carries it out as it does for a shell."""
NO_SESSION = "calls what plans or reads without a session"
INSIDE = "calls what saves rows in the process that has a session with its JVM"
FILES_LEFT_OUT = {
    "test_key_groups.py": JVM,
    "read/test_hadoop_access.py": NO_SESSION,
    "read/test_hints.py": NO_SESSION,
    "read/test_partition_reader.py": NO_SESSION,
    "read/test_reader.py": NO_SESSION,
    "read/test_skipping.py": JVM,
    "write/test_frame_files.py": INSIDE,
    "write/test_hand_over.py": INSIDE,
    "write/test_node_column.py": INSIDE,
    "write/test_own_rows.py": INSIDE,
    "write/test_scanned_files.py": INSIDE,
    "write/test_spread.py": INSIDE,
    "write/test_write_frame.py": INSIDE,
}
"""Of reads and writes."""

orders = test_procedures.orders
test_calls = test_procedures.test_states_are_named_and_brought_back
test_statements = test_catalog_writes.test_rows_are_replaced_by_statements
test_table_writes = test_catalog_writes.test_a_write_by_name_makes_replaces_and_fills_tables
test_commands = test_row_level.test_rows_move_between_partitions
OF_CLIENTS = frozenset({"lake", "own", "shop", "source", "spark", "sql"})
"""Fixtures of this folder, or that need a session alone."""


def shared(module: Any) -> Mapping[str, Any]:
    """Return the tests of a module that are run here, with the fixtures that they need.

    In the order of the module: every process that runs tests must collect the same ones.
    """
    kind = type(test_known_aggregates.typed)
    return {
        name: each
        for name, each in vars(module).items()
        if (name.startswith("test_") and name not in LEFT_OUT)
        or (isinstance(each, kind) and name not in OF_CLIENTS)
    }


for _module in SHARED:
    globals().update(shared(_module))


def test_what_is_left_out_is_there() -> None:
    """A test with another name would be run here, or missed, unseen."""
    names = {name for module in SHARED for name in vars(module)}

    assert LEFT_OUT.keys() <= names
    here = Path(__file__).parent.parent
    files = {
        f"{room}/{path.name}" for room in ("read", "write") for path in here.glob(f"{room}/test_*")
    }
    assert files | {"test_key_groups.py"} == FILES_LEFT_OUT.keys()


def test_rows_are_shuffled_by_the_server(lake: Lake) -> None:
    """Two files for each node, however many partitions the frame has; the client opens nothing."""
    lake.create()  # of four nodes
    rows = lake.spark.range(0, 6_000, 1, 3).selectExpr("id", "'r' AS region", "0.5D AS amount")
    lake.save(rows, "upsert")
    lake.save(rows.where("id % 2 = 0"), "delete")

    assert lake.load().count() == 3_000
    files = lake.table().inspect("files").to_pylist()
    assert {file["mask"] for file in files} == {3}
    assert len(files) <= 2 * 4 + 4


def test_what_no_option_places_is_where_the_server_is(spark: SparkSession, lake: Lake) -> None:
    """Not where the client is; the table that a failed write has made is taken back there."""
    frame = lake.frame([(1, "eu", 0.5)])
    with pytest.raises(arctic.InvalidInputError, match="unknown"):
        frame.write.format("arctic").option("primarykeys", "id").mode("upsert").save("db.nowhere")
    with pytest.raises(arctic.InvalidInputError, match="'nobody'"):
        frame.write.format("arctic").option("primaryKey", "nobody").mode("upsert").save(NAME)
    frame.write.format("arctic").option("primaryKey", "id").mode("upsert").save(NAME)

    assert spark.read.format("arctic").load(NAME).count() == 1
    with pytest.raises(arctic.NotFoundError):
        lake.table()
