"""The page of one table, all its parts drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arctic.optimizing.report import PartitionStatus
from arctic.page.facts.table_facts import TableFacts
from arctic.page.views.commit_chart import CommitChart, draw_commits
from arctic.page.views.freshness_clock import Clock, draw_clock
from arctic.page.views.node_map import NodeMap, draw_nodes
from arctic.page.views.read_xray import LastXray, Xray, draw_last, draw_read
from arctic.page.views.schema_steps import SchemaStep, draw_schemas
from arctic.scan.explain import counted, size_text
from arctic.table.expire_report import ExpiredItem
from arctic.table.table_description import Column

MOST_PARTITIONS = 50
MOST_ITEMS = 100
"""Of a cleaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePage:
    """What is shown of one table."""

    facts: TableFacts
    nodes: NodeMap
    clock: Clock
    commits: CommitChart
    xray: Xray
    last_xray: LastXray | None
    """None: nobody told of a read."""
    schemas: tuple[SchemaStep, ...]
    cleaning: Mapping[str, str]
    """What a cleaning would remove, counted: kind -> number and bytes."""
    cleaned_items: tuple[ExpiredItem, ...]
    unlisted_items: int
    partitions: tuple[PartitionStatus, ...]
    """Those where something is due first."""
    unlisted_partitions: int

    @property
    def columns(self) -> tuple[Column, ...]:
        """Those of now."""
        return next(each.columns for each in self.facts.schemas if each.is_current)

    @property
    def bytes(self) -> int:
        """Of all files that a read opens."""
        return sum(node.bytes for node in self.facts.nodes)

    @property
    def unmerged_share(self) -> float:
        """Unmerged bytes as a share of all, 0 to 1."""
        unmerged = sum(node.unmerged_bytes for node in self.facts.nodes)
        return unmerged / self.bytes if self.bytes else 0.0


def draw_table(facts: TableFacts) -> TablePage:
    """Return the page of a table."""
    report = facts.cleaning
    return TablePage(
        facts=facts,
        nodes=draw_nodes(facts.nodes, at_ms=facts.at_ms),
        clock=draw_clock(facts.freshness, at_ms=facts.at_ms),
        commits=draw_commits(facts.commits),
        xray=draw_read(facts.read),
        last_xray=None if facts.last_read is None else draw_last(facts.last_read),
        schemas=draw_schemas(facts.schemas),
        cleaning={}
        if report is None
        else {
            kind.value: f"{counted(count, 'item')}, {size_text(report.bytes[kind])}"
            for kind, count in report.counts.items()
        },
        cleaned_items=() if report is None else report.items[:MOST_ITEMS],
        unlisted_items=0 if report is None else max(0, len(report.items) - MOST_ITEMS),
        partitions=facts.status.worst_first[:MOST_PARTITIONS],
        unlisted_partitions=max(0, len(facts.status.partitions) - MOST_PARTITIONS),
    )
