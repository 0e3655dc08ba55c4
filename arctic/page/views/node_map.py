"""The node map: where the keys of a partition lie, how much of each node is merged, since when not.

A node stands where its keys lie among the hashes of all keys, as wide as its share of them. A child
stands below its parent, so nodes overlap in the drawing where they overlap in the table. Nodes are
filled in proportion to the largest one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from arctic.page.facts.table_facts import NodeFacts
from arctic.page.views.words import age_text
from arctic.scan.explain import counted, size_text
from arctic.tree.node import TreeNode

WIDTH = 640
MOST_STRIPS = 12
MOST_ROWS = 200
_BOX = 60
_ROW = 84
_LABELLED = 34
_DESCRIBED = 92
"""Widths from which a box has room for its number, and for its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One node."""

    x: float
    y: float
    width: float
    base_height: float
    unmerged_height: float
    number: str
    """Empty where there is no room."""
    size: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """The nodes of one partition."""

    partition: str
    height: int
    boxes: tuple[Box, ...]
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMap:
    """The nodes of a table."""

    strips: tuple[Strip, ...]
    unlisted_strips: int
    rows: tuple[tuple[NodeFacts, str], ...]
    """What the drawing shows, as a table: each node with its age."""
    unlisted_rows: int


def draw_nodes(nodes: Sequence[NodeFacts], *, at_ms: int) -> NodeMap:
    """Return the drawing of a table's nodes, the partitions with most to merge first.

    Args:
        nodes: that hold files.
        at_ms: when they were looked at.
    """
    held: dict[str, list[NodeFacts]] = defaultdict(list)
    for node in nodes:
        held[node.partition].append(node)
    order = sorted(held, key=lambda name: (-sum(n.unmerged_bytes for n in held[name]), name))
    most = max((node.bytes for node in nodes), default=0) or 1
    listed = [node for name in order for node in held[name]]
    return NodeMap(
        strips=tuple(_strip(name, held[name], most, at_ms) for name in order[:MOST_STRIPS]),
        unlisted_strips=max(0, len(order) - MOST_STRIPS),
        rows=tuple((node, age(node, at_ms)) for node in listed[:MOST_ROWS]),
        unlisted_rows=max(0, len(listed) - MOST_ROWS),
    )


def age(node: NodeFacts, at_ms: int) -> str:
    """Say since when a node has something to merge."""
    if not node.unmerged_files:
        return "all merged"
    if node.unmerged_since_ms is None:
        return "longer than snapshots are kept"
    return age_text(max(0, at_ms - node.unmerged_since_ms))


def _strip(partition: str, nodes: Sequence[NodeFacts], most: int, at_ms: int) -> Strip:
    places = {node.node_id: TreeNode.from_id(node.node_id) for node in nodes}
    depths = sorted({place.depth for place in places.values()})
    boxes = tuple(
        _box(node, places[node.node_id], depths.index(places[node.node_id].depth), most, at_ms)
        for node in nodes
    )
    unmerged = sum(node.unmerged_bytes for node in nodes)
    return Strip(
        partition=partition,
        height=_ROW * len(depths),
        boxes=boxes,
        summary=f"{counted(len(nodes), 'node')} of {size_text(sum(n.bytes for n in nodes))}, "
        f"{size_text(unmerged)} not merged; the table below has each node.",
    )


def _box(node: NodeFacts, place: TreeNode, row: int, most: int, at_ms: int) -> Box:
    count = place.mask + 1
    width = WIDTH / count
    scale = _BOX / most
    since = age(node, at_ms)
    return Box(
        x=round(width * _reversed_bits(place.index, place.depth), 2),
        y=_ROW * row,
        width=round(width, 2),
        base_height=round(scale * node.base_bytes, 2),
        unmerged_height=round(scale * node.unmerged_bytes, 2),
        number=f"node {node.node_id}"
        if width >= _LABELLED * 2
        else (str(node.node_id) if width >= _LABELLED else ""),
        size=size_text(node.bytes) if width >= _DESCRIBED else "",
        title=f"node {node.node_id}: base {size_text(node.base_bytes)}, "
        f"not merged {size_text(node.unmerged_bytes)} ({since})",
    )


def _reversed_bits(index: int, depth: int) -> int:
    """Return where a node stands among those of its depth, so that children lie below parents.

    >>> [_reversed_bits(index, 2) for index in range(4)]
    [0, 2, 1, 3]
    """
    return int(f"{index:0{depth}b}"[::-1], 2) if depth else 0
