"""Places, lengths and words of the drawings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arctic.page.facts.table_facts import Freshness, NodeFacts
from arctic.page.views.bars import LABELS, WIDTH, draw_bars
from arctic.page.views.commit_chart import MOST, draw_commits
from arctic.page.views.freshness_clock import draw_clock
from arctic.page.views.node_map import MOST_STRIPS, draw_nodes
from arctic.page.views.overview import draw_overview
from arctic.page.views.read_xray import draw_read
from arctic.page.views.schema_steps import draw_schemas
from arctic.page.views.table_page import MOST_ITEMS, draw_table
from arctic.scan.read_summary import LeftOut, OpenedKind, ReadSummary
from arctic.table.table_description import Column, SchemaVersion
from tests.page.made_facts import MIB, NOW_MS, commit, hostile, lake, node, row


def test_nodes_stand_where_their_keys_lie() -> None:
    """Nodes of one depth fill the width once; a child lies below its parent."""
    drawn = draw_nodes([node(number) for number in (2, 3, 4, 5, 6, 7)], at_ms=NOW_MS)
    boxes = {box.title.split(":")[0]: box for box in drawn.strips[0].boxes}
    deep = sorted(
        (box for name, box in boxes.items() if name in {"node 4", "node 5", "node 6", "node 7"}),
        key=lambda box: box.x,
    )

    assert [box.x for box in deep] == [0, 160, 320, 480]
    assert {box.width for box in deep} == {160}
    # Node 4 and node 6 are the children of node 2, node 5 and node 7 those of node 3.
    for child, parent in (("node 4", "node 2"), ("node 6", "node 2"), ("node 7", "node 3")):
        assert boxes[parent].x <= boxes[child].x < boxes[parent].x + boxes[parent].width
        assert boxes[parent].y < boxes[child].y


def test_nodes_are_filled_in_proportion_to_the_largest() -> None:
    """Across partitions, and what is not merged stands on what is."""
    drawn = draw_nodes([node(4, base=3 * MIB, unmerged=MIB), node(5, base=2 * MIB)], at_ms=NOW_MS)
    largest, other = drawn.strips[0].boxes

    assert largest.base_height + largest.unmerged_height == 60
    assert (largest.unmerged_height, other.base_height) == (15, 30)
    assert [age for _, age in drawn.rows] == ["1 min 30 s", "all merged"]


def test_partitions_with_most_to_merge_are_drawn() -> None:
    """The others are counted, and stand in the table."""
    nodes = [node(4, partition=f"day={number:02}", unmerged=number) for number in range(20)]
    drawn = draw_nodes(nodes, at_ms=NOW_MS)

    assert drawn.strips[0].partition == "day=19"
    assert (len(drawn.strips), drawn.unlisted_strips) == (MOST_STRIPS, 20 - MOST_STRIPS)
    assert len(drawn.rows) == 20


def test_an_age_that_nobody_knows_is_said_to_be() -> None:
    """The snapshot that brought the change has expired."""
    forgotten = replace(node(4, unmerged=MIB), unmerged_since_ms=None)

    assert draw_nodes([forgotten], at_ms=NOW_MS).rows[0][1] == "longer than snapshots are kept"


def _freshness(**times: int | None) -> Freshness:
    known = {
        "view_ms": NOW_MS,
        "base_ms": NOW_MS,
        "merged_ms": None,
        "table_watermark_ms": None,
        "base_watermark_ms": None,
        **times,
    }
    return Freshness(unmerged_commits=0, writers=(), **known)


def test_a_hand_is_further_left_the_longer_it_lags() -> None:
    """Now is at the right; what lies ahead of this clock stands there too."""
    clock = draw_clock(
        _freshness(
            view_ms=NOW_MS + 5_000,
            base_ms=NOW_MS - 60_000,
            table_watermark_ms=NOW_MS - 10**11,
            base_watermark_ms=None,
        ),
        at_ms=NOW_MS,
    )
    view, base, table, unknown = clock.hands

    assert view.x == 610
    assert view.behind == "5 s ahead of this clock"
    assert table.x == 210
    assert base.x is not None
    assert 210 < base.x < 610
    assert (unknown.x, unknown.behind) == (None, "not known")
    assert clock.ticks[-1].text == "1 y"


def test_a_clock_without_event_time_has_two_hands() -> None:
    """What does not exist is not drawn as unknown."""
    assert len(draw_clock(_freshness(), at_ms=NOW_MS).hands) == 2


def test_no_commit_is_no_chart() -> None:
    """And no error."""
    drawn = draw_commits(())

    assert (drawn.sticks, drawn.lines, drawn.rows, drawn.height) == ((), (), (), 0)


def test_one_commit_stands_in_the_middle() -> None:
    """There is no span to divide."""
    drawn = draw_commits((commit(3),))

    assert [stick.x for stick in drawn.sticks] == [350]
    assert [name for name, _ in drawn.lanes] == ["change"]


def test_the_newest_commits_are_drawn_from_left_to_right() -> None:
    """Higher for more rows, within their lanes."""
    drawn = draw_commits(
        [
            commit(number, store="base" if number % 5 == 0 else "change")
            for number in range(MOST + 7)
        ]
    )

    assert (len(drawn.sticks), drawn.unlisted) == (MOST, 7)
    assert [stick.x for stick in drawn.sticks] == sorted(stick.x for stick in drawn.sticks)
    assert all(0 <= stick.y <= drawn.height for stick in drawn.sticks)
    assert drawn.rows[0].snapshot_id == MOST + 6
    assert drawn.most_files == MOST + 6


def test_bars_are_as_long_as_their_numbers() -> None:
    """What is little is seen, what is nothing is not."""
    drawn = draw_bars(
        "t",
        [
            ("a", 10, "10", "base"),
            ("b", 5, "5", "base"),
            ("c", 1e-9, "0", "base"),
            ("d", 0, "", "base"),
        ],
        summary="s",
    )
    lengths = [bar.length for bar in drawn.bars]

    assert lengths == [WIDTH - LABELS - 110, (WIDTH - LABELS - 110) / 2, 2, 0]
    assert draw_bars("t", [], summary="s").height == 0


def test_a_read_shows_where_every_file_went() -> None:
    """What is considered is left out or opened."""
    summary = ReadSummary(
        row_filter=None,
        considered_files=9,
        left_out=(LeftOut(files=6, reason="already merged into base"),),
        opened=(OpenedKind(kind="base", files=3, rows=30, size_bytes=MIB),),
    )
    drawn = draw_read(replace(hostile("x").read, summary=summary))

    assert [bar.label for bar in drawn.bars.bars] == [
        "files considered",
        "left out: already merged into base",
        "opened: base",
    ]
    assert drawn.bars.summary == (
        "Of 9 files, 6 are left out (6 already merged into base) and 3 are opened."
    )


def test_the_sickest_table_comes_first() -> None:
    """Where something is due before where nothing is; groups are summed up."""
    drawn = draw_overview(
        lake(row("a", score=90), row("b", score=20), row("c", score=20, due="full", group="etl")),
        {"b": "b.html"},
    )

    assert [each.name for each in drawn.rows] == ["c", "b", "a"]
    assert drawn.links == ("", "b.html", "")
    assert [(group.name, group.tables, group.due) for group in drawn.groups] == [
        ("default", 2, 0),
        ("etl", 1, 1),
    ]
    assert drawn.groups[0].slots is None
    assert drawn.health.bars[0].text == "1"


def test_a_group_without_tables_shows_its_slots() -> None:
    """A service may have one."""
    (group,) = draw_overview(lake(slots=True), {}).groups

    assert group.slots is not None
    assert (group.tables, group.slots.busy, group.slots.slots) == (0, 3, 4)


def _columns(*pairs: tuple[int, str, str]) -> tuple[Column, ...]:
    return tuple(
        Column(field_id=number, name=name, type=kind, required=False)
        for number, name, kind in pairs
    )


def test_each_schema_says_what_it_changed() -> None:
    """By the ids of columns, so that a rename is none of a drop and an addition."""
    versions = [
        SchemaVersion(number=0, since_ms=None, is_current=False, columns=_columns((1, "a", "int"))),
        SchemaVersion(
            number=1,
            since_ms=None,
            is_current=False,
            columns=_columns((1, "b", "long"), (2, "c", "int")),
        ),
        SchemaVersion(number=2, since_ms=1, is_current=True, columns=_columns((1, "b", "long"))),
    ]

    assert [step.changes for step in draw_schemas(versions)] == [
        ("dropped c",),
        ("renamed a to b", "b: int became long", "added c (int)"),
        ("1 column",),
    ]


def test_a_long_cleaning_is_listed_up_to_a_bound() -> None:
    """And the rest is counted."""
    facts = hostile("x")
    assert facts.cleaning is not None
    many = replace(facts.cleaning, items=facts.cleaning.items * (MOST_ITEMS + 5))
    drawn = draw_table(replace(facts, cleaning=many))

    assert (len(drawn.cleaned_items), drawn.unlisted_items) == (MOST_ITEMS, 5)
    assert drawn.cleaning == {"orphan": f"{MOST_ITEMS + 5} items, 0 B"}


@pytest.mark.parametrize("nodes", [(), (node(1, base=0),)], ids=["none", "empty"])
def test_a_share_of_nothing_is_nothing(nodes: tuple[NodeFacts, ...]) -> None:
    """Not a division by zero."""
    assert draw_table(replace(hostile("x"), nodes=nodes)).unmerged_share == 0
