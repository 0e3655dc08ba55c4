from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.errors import FormatError
from arctic.table.filename import (
    ParsedName,
    format_name,
    has_format_name,
    has_random_name,
    parse_base_name,
    parse_change_name,
    parse_position_delete_name,
)
from arctic.table.files import FileKind
from arctic.tree.node import ROOT, TreeNode

Parse = Callable[[str], ParsedName]
PARSERS: dict[FileKind, Parse] = {
    FileKind.BASE: parse_base_name,
    FileKind.INSERT: parse_change_name,
    FileKind.CHANGE_DELETE: parse_change_name,
    FileKind.POS_DELETE: parse_position_delete_name,
}
FOREIGN_NAMES = [
    "00000-0-f47ac10b-58cc-4372-a567-0e02b2c3d479-00001.parquet",
    "00000-12-12345678-1234-5678-9012-123456789012-00001.parquet",
    "part-00000.snappy.parquet",
    "4-B-7.parquet",
    "4-B-7-00000-12",
    "4-b-7-00000-12-77-00001.parquet",
    "..4-B-7-00000-12-77-00001.parquet",
    "x4-B-7-00000-12-77-00001.parquet",
    "-4-B-7-00000-12-77-00001.parquet",
    "٤-B-7-00000-12-77-00001.parquet",
    "4-X-7-00000-12-77-00001.parquet",
    "",
]


@given(
    st.integers(0, 31),
    st.integers(0, 2**31 - 1),
    st.sampled_from(FileKind),
    st.integers(0, 2**63 - 1),
    st.integers(0, 10**6),
)
def test_a_written_name_is_read_back(
    depth: int, hash_: int, kind: FileKind, transaction_id: int, number: int
) -> None:
    """Node, kind and transaction survive the file name, whatever folder it is in."""
    node = TreeNode(2**depth - 1, hash_ & (2**depth - 1))
    name = format_name(
        node=node,
        kind=kind,
        transaction_id=transaction_id,
        partition_id=number,
        task_id=number,
        operation_id=number,
        count=number,
    )

    parsed = PARSERS[kind](f"s3://bucket/4-ED-9-0-0-x/{name}")

    assert ParsedName(node=node, kind=kind, transaction_id=transaction_id) == parsed


@pytest.mark.parametrize("name", FOREIGN_NAMES)
def test_a_foreign_name_belongs_to_the_root(name: str) -> None:
    """Files that Iceberg engines wrote are data of the whole tree."""
    assert ParsedName(node=ROOT, kind=FileKind.BASE, transaction_id=0) == parse_base_name(name)
    assert ParsedName(node=ROOT, kind=FileKind.INSERT, transaction_id=0) == parse_change_name(name)
    assert parse_position_delete_name(name).node == ROOT
    assert not has_format_name(f"s3://bucket/4-B-9-0-0-x/{name}")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (".4-ED-7-00000-12-77-00001.parquet", (4, FileKind.CHANGE_DELETE, 7)),
        ("5-I-2-00000-941953957-0000000001.parquet", (5, FileKind.INSERT, 2)),
        ("0005-I-0002-0-0-anything at all", (5, FileKind.INSERT, 2)),
        ("5-I-2-0-0-", (5, FileKind.INSERT, 2)),
    ],
)
def test_older_and_hidden_names_are_read(name: str, expected: tuple[int, FileKind, int]) -> None:
    """One leading dot, leading zeros, and anything after the fifth dash."""
    parsed = parse_change_name(f"/w/t/{name}")

    assert expected == (parsed.node.node_id, parsed.kind, parsed.transaction_id)


def test_an_insert_in_base_is_a_base_file() -> None:
    """Older releases listed change files in base instead of copying them."""
    parsed = parse_base_name("6-I-9-00000-1-77-00001.parquet")

    assert (parsed.kind, parsed.transaction_id) == (FileKind.BASE, 9)


def test_a_position_delete_by_another_name_applies_to_the_whole_tree() -> None:
    """Only a name of its own kind limits it to a node."""
    assert parse_position_delete_name("6-B-9-00000-1-77-00001.parquet").node == ROOT
    assert parse_position_delete_name("6-PD-9-00000-1-77-00001.parquet").node == TreeNode(3, 2)


@pytest.mark.parametrize(
    ("parse", "name", "message"),
    [
        (parse_base_name, "0-B-7-0-0-x", "node id 0: expected a number >= 1"),
        (parse_change_name, "0-ED-7-0-0-x", "node id 0"),
        (parse_change_name, f"{2**32}-ED-7-0-0-x", "depth 0 to 31"),
        (parse_change_name, f"{10**30}-ED-7-0-0-x", "node id .* below 2"),
        (parse_change_name, f"{'9' * 5000}-ED-7-0-0-x", "node id .* below 2"),
        (parse_change_name, f"4-ED-{2**63}-0-0-x", "transaction id 9223372036854775808; expected"),
        (parse_base_name, "4-ED-7-0-0-x", "kind 'ED' as a data file"),
        (parse_base_name, "4-PD-7-0-0-x", "kind 'PD' as a data file"),
        (parse_change_name, "4-B-7-0-0-x", "kind 'B'; expected 'I' or 'ED'"),
        (parse_change_name, "4-PD-7-0-0-x", "kind 'PD'; expected 'I' or 'ED'"),
        (parse_change_name, "4-IED-7-0-0-x", "kind 'IED' is never written"),
        (parse_base_name, "4-IED-7-0-0-x", "kind 'IED' is never written"),
        (parse_position_delete_name, "4-L-7-0-0-x", "kind 'L' is never written"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_a_name_that_means_something_impossible_is_refused(
    parse: Parse, name: str, message: str
) -> None:
    """A guess would read rows wrongly."""
    with pytest.raises(FormatError, match=message):
        parse(name)


@pytest.mark.parametrize(
    ("path", "is_random"),
    [
        ("s3://b/t/4-I-0-00001-0-2889679053109490213-00001.parquet", True),
        ("s3://b/t/00000-0-01b93a2f-1111-2222-3333-123456789abc.parquet", True),
        ("s3://b/01b93a2f-1111-2222-3333-123456789abc/part-0.parquet", False),
        ("s3://b/t/2026-11-24.parquet", False),
    ],
)
def test_a_name_is_random_by_its_own_number(path: str, is_random: bool) -> None:
    """A folder's number says nothing of what is in it tomorrow."""
    assert has_random_name(path) is is_random
