from __future__ import annotations

import pickle
from dataclasses import fields, replace

import pytest

from arctic.errors import InternalError
from arctic.table.files import ColumnBounds, FileKind, TableFile
from arctic.table.snapshot import TableSnapshot
from arctic.table.table_description import Column, PartitionField, TableDescription
from arctic.tree.node import TreeNode

TABLE = TableDescription(
    identifier=("db", "orders"),
    columns=(
        Column(field_id=1, name="id", type="long", required=True),
        Column(field_id=2, name="ts", type="timestamp", required=False),
        Column(field_id=3, name="region", type="string", required=True),
    ),
    primary_key=("region", "id"),
    partition_fields=(
        PartitionField(source_id=3, name="region", transform="identity"),
        PartitionField(source_id=1, name="id_bucket", transform="bucket[4]"),
    ),
    properties={},
    base_location="s3://w/orders",
    change_location="s3://w/orders_change",
)
FILE = TableFile(
    path="s3://w/orders/data/4-PD-7-00000-1-77-00001.parquet",
    kind=FileKind.POS_DELETE,
    node=TreeNode(3, 0),
    partition=("eu", 1),
    transaction_id=7,
    sequence_number=8,
    size_bytes=1000,
    record_count=10,
    bounds={1: ColumnBounds(lower=1, upper=9, null_count=0)},
    referenced_path="s3://w/orders/data/4-B-7-00000-1-77-00002.parquet",
)


def test_key_columns_come_in_key_order() -> None:
    """The order of the key decides the hash, so it is not that of the schema."""
    assert [column.name for column in TABLE.key_columns] == ["region", "id"]
    assert TABLE.is_keyed
    assert not replace(TABLE, primary_key=()).is_keyed


def test_partition_source_columns_come_in_schema_order() -> None:
    """Each once, however many fields are made of it."""
    twice = (
        *TABLE.partition_fields,
        PartitionField(source_id=3, name="r", transform="truncate[1]"),
    )
    table = replace(TABLE, partition_fields=twice)

    assert [column.name for column in table.partition_source_columns] == ["id", "region"]


@pytest.mark.parametrize(
    ("primary_key", "follows"), [(("region", "id"), True), (("id",), False), ((), False)]
)
def test_a_key_decides_the_partition_iff_it_holds_all_sources(
    primary_key: tuple[str, ...], follows: bool
) -> None:
    """Otherwise an update can move a key to another partition."""
    assert follows == replace(TABLE, primary_key=primary_key).partition_follows_key


def test_a_table_without_partitions_follows_any_key() -> None:
    """There is one partition, and no key leaves it."""
    assert replace(TABLE, partition_fields=()).partition_follows_key


def test_a_column_that_does_not_exist_is_a_bug_of_the_caller() -> None:
    """Names that users give are checked before."""
    with pytest.raises(InternalError, match=r"'db.orders' has no column 'nope'"):
        TABLE.column("nope")


def test_a_partition_that_no_snapshot_mentions_has_nothing_merged() -> None:
    """Sequence numbers start at 1, so all of its change files are visible."""
    snapshot = TableSnapshot(
        base_snapshot_id=1,
        change_snapshot_id=2,
        change_sequence_number=9,
        optimized_sequence={("eu", None): 7},
    )

    assert [snapshot.merged_up_to(partition) for partition in (("eu", None), ("us", 1))] == [7, 0]


def test_a_file_travels_without_bounds() -> None:
    """It is the same file: every other field stays, and a new one must be carried over too."""
    arrived = pickle.loads(pickle.dumps(FILE))

    assert FILE.bounds
    assert arrived.bounds == {}
    assert arrived == FILE
    assert all(getattr(FILE, field.name) is not field.default for field in fields(FILE))


def test_nouns_survive_pickling() -> None:
    """They go to Spark executors."""
    for noun in (TABLE, FILE):
        assert noun == pickle.loads(pickle.dumps(noun))
