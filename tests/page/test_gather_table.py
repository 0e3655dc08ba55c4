"""Facts of real tables: of no file, of one snapshot, optimized, and with hostile names."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError, NotFoundError
from arctic.page.gather.gather_table import gather_table
from arctic.page.pages import table_page
from arctic.page.rendered import Frame
from tests.page.parsed import parsed

FRAME = Frame(home="", is_served=False)
MARKUP = "<img src=x onerror=alert(1)>\"'&"
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("day", pa.date32())])


def _rows(*ids: int) -> pa.Table:
    return pa.table(
        {"id": ids, "city": ["Rome"] * len(ids), "day": [date(2026, 1, 1)] * len(ids)}, SCHEMA
    )


@pytest.mark.parametrize("key", [["id"], []], ids=["keyed", "unkeyed"])
def test_a_table_without_a_file_has_a_page(tmp_path: Path, key: list[str]) -> None:
    """Nothing is known, and nothing is due."""
    place = str(tmp_path)
    arctic.create_table("a.t", SCHEMA, primary_key=key, warehouse=place)
    facts = gather_table("a.t", warehouse=place, with_cleaning=True)

    assert (facts.nodes, facts.commits, facts.runs) == ((), (), ())
    assert (facts.read.summary.opened_files, facts.status.due) == (0, None)
    assert (facts.freshness.view_ms, facts.freshness.base_ms) == (None, None)
    assert [choice.partitions for choice in facts.choices] == [0, 0, 0]
    page = parsed(table_page(facts, FRAME))
    assert "The table has no files yet." in page.text_of("p")
    assert "Nothing was committed yet." in page.text_of("p")


def test_what_is_not_merged_is_told_of_each_node(tmp_path: Path) -> None:
    """Before a run everything waits, after it nothing, and a later change waits alone."""
    place = str(tmp_path)
    buckets = {"base.file-index.hash-bucket": "1", "change.file-index.hash-bucket": "2"}
    table = arctic.create_table(
        "a.t", SCHEMA, primary_key=["id"], properties=buckets, warehouse=place
    )
    table.write(_rows(1, 2, 3, 4), mode="upsert")
    before = gather_table("a.t", warehouse=place)
    table.optimize(type="full")
    after = gather_table("a.t", warehouse=place)
    table.write(_rows(1), mode="upsert")
    later = gather_table("a.t", warehouse=place)

    assert [(node.node_id, node.base_files) for node in before.nodes] == [(2, 0), (3, 0)]
    assert before.freshness.unmerged_commits == 1
    assert all(node.unmerged_since_ms == before.commits[0].at_ms for node in before.nodes)
    assert [(node.node_id, node.unmerged_files) for node in after.nodes] == [(1, 0)]
    assert after.freshness.base_ms == after.freshness.view_ms == before.commits[0].at_ms
    assert [run.types for run in after.runs] == ["full"]
    assert after.freshness.merged_ms == after.runs[0].at_ms
    assert later.freshness.unmerged_commits == 1
    assert later.freshness.base_ms == later.commits[-1].at_ms
    assert {file.kind for group in later.read.groups for t in group.tasks for file in t.data} == {
        "base",
        "insert",
    }
    assert [choice.partitions for choice in later.choices] == [1, 1, 1]


def test_what_is_due_is_the_first_choice(tmp_path: Path) -> None:
    """With what it would do; nothing is carried out."""
    place = str(tmp_path)
    trigger = {"self-optimizing.minor.trigger.file-count": "2", "base.file-index.hash-bucket": "1"}
    table = arctic.create_table(
        "a.t", SCHEMA, primary_key=["id"], properties=trigger, warehouse=place
    )
    table.write(_rows(1, 2), mode="upsert")
    table.write(_rows(1, 2), mode="upsert")
    facts = gather_table("a.t", warehouse=place)

    assert [(choice.type, choice.is_due) for choice in facts.choices] == [
        ("minor", True),
        ("minor", False),
        ("major", False),
        ("full", False),
    ]
    due = facts.choices[0]
    assert due.rewritten_files > 0
    assert due.seconds > 0
    assert due.saved_ms > 0
    assert gather_table("a.t", warehouse=place).runs == ()
    own = {setting.name: setting.source for setting in facts.settings}
    assert own["self-optimizing.minor.trigger.file-count"] == "property of the table"
    assert own["self-optimizing.target-size"].startswith("default")


def test_the_sizes_in_force_are_those_that_a_run_goes_by(tmp_path: Path) -> None:
    """Nodes that a partition has grown to, and the files that make a minor due in it."""
    place = str(tmp_path)
    small = {"self-optimizing.target-size": "1024", "self-optimizing.fragment-ratio": "2"}
    table = arctic.create_table(
        "a.t", SCHEMA, primary_key=["id"], properties=small, warehouse=place
    )
    before = {each.name: each for each in gather_table("a.t", warehouse=place).settings}
    table.write(_rows(*range(20_000)), mode="upsert")
    table.optimize(type="full")
    facts = gather_table("a.t", warehouse=place)

    now = {each.name: each for each in facts.settings}
    (status,) = facts.status.partitions
    nodes = now["base.file-index.hash-bucket"]
    assert before["base.file-index.hash-bucket"].value == "4"
    assert nodes.value == f"{status.nodes.partition(' ')[0]} in 1 partition"
    assert int(nodes.value.partition(" ")[0]) > 4
    assert nodes.source == "measured: what base of each partition holds, and what is not merged"
    assert {node.why.partition(" ")[0] for node in facts.nodes} == {"holds"}
    files = int(now["files that make a minor due"].value)
    assert files == max(12, status.health.fragment_nodes + 1)


def test_a_filter_plans_another_read(tmp_path: Path) -> None:
    """And one that cannot be understood is an error of the caller."""
    place = str(tmp_path)
    table = arctic.create_table(
        "a.t", SCHEMA, primary_key=["id"], partition_by="day", warehouse=place
    )
    days = pa.array([date(2026, 1, 1), date(2026, 1, 2)])
    table.write(_rows(1, 2).set_column(2, "day", days), mode="upsert")
    every = gather_table("a.t", warehouse=place).read
    one = gather_table("a.t", row_filter="day = '2026-01-01'", warehouse=place).read
    nothing = gather_table("a.t", row_filter="day = '2020-01-01'", warehouse=place).read

    assert 0 < one.summary.opened_files < every.summary.opened_files
    left_out = sum(each.files for each in one.summary.left_out)
    assert one.summary.opened_files + left_out == one.summary.considered_files
    assert (nothing.summary.opened_files, nothing.unopened_manifests) == (0, 1)
    with pytest.raises(InvalidInputError):
        gather_table("a.t", row_filter="no = 'column'", warehouse=place)
    with pytest.raises(NotFoundError):
        gather_table("a.none", warehouse=place)


def test_hostile_names_come_out_as_they_went_in(tmp_path: Path) -> None:
    """In columns, partition values, comments and properties of a table that was really written."""
    place = str(tmp_path)
    schema = pa.schema(
        [
            ("id", pa.int64()),
            (MARKUP, pa.string()),
            pa.field("p", pa.string(), metadata={"doc": "c"}),
        ]
    )
    table = arctic.create_table(
        "a.t", schema, primary_key=["id", "p"], partition_by="p", warehouse=place
    )
    rows = pa.table({"id": [1], MARKUP: ["v"], "p": [MARKUP]}, schema)
    table.write(rows, mode="upsert")
    table.evolve_schema(rename={MARKUP: f"{MARKUP}2"})
    text = table_page(gather_table("a.t", warehouse=place), FRAME)
    page = parsed(text)

    assert "<img" not in text
    assert f"{MARKUP}2" in page.text_of("bdi")
    assert f"renamed {MARKUP} to {MARKUP}2" in page.text_of("li")
    assert MARKUP in "".join(said for _, said in page.words)


def test_watermarks_of_writers_are_hands_of_the_clock(tmp_path: Path) -> None:
    """Event time of the table, of base, and of each writer."""
    place = str(tmp_path)
    schema = pa.schema([("id", pa.int64()), ("at", pa.int64())])
    table = arctic.create_table(
        "a.t",
        schema,
        primary_key=["id"],
        properties={"table.event-time-field": "at"},
        warehouse=place,
    )
    table.write(
        pa.table({"id": [1], "at": [1_000]}, schema), mode="upsert", options={"writer-id": "feed"}
    )
    freshness = gather_table("a.t", warehouse=place).freshness

    assert freshness.table_watermark_ms == 1_000
    assert freshness.base_watermark_ms is None
    assert freshness.writers == (("feed", 1_000),)
