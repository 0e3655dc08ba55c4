"""Every verb on a table in an object store: the rows are right, and requests are few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from benchmarks.requests.__main__ import LIBRARIES
from benchmarks.requests.object_store import ObjectStore
from benchmarks.requests.page import PAGE, beside_table, page_with
from benchmarks.requests.plain import plain_counts
from benchmarks.requests.verbs import NODES, Cost, Life

LISTING = {"create", "publish", "expire", "clean orphans", "unpublish", "drop, purge"}
"""What makes a table looks whether a place is free; what cleans looks what is there."""


def test_every_verb_asks_for_no_more_than_it_needs(server: ObjectStore, tmp_path: Path) -> None:
    """A life of a table with each library; its rows are compared with a dictionary on the way."""
    lives = {}
    for name, chosen in LIBRARIES.items():
        catalog = server.catalog(tmp_path / f"{name}.db", folder=name, **chosen)
        lives[name] = list(Life(server, catalog).costs())
        assert left(server, catalog) == []

    page = PAGE.read_text(encoding="utf-8")
    assert page == page_with(page, lives), "make bench-requests ARGS=--write-docs"
    for name, costs in lives.items():
        assert {cost.verb for cost in costs if cost.count("LIST")} == LISTING
        for cost in costs:
            assert cost.count("create upload", "complete upload") == 0, cost.verb
            assert repeated(cost, "GET") == [], cost.verb
            if cost.verb not in LISTING:
                heads = cost.count("GET") if name == "Arrow" else 0
                assert cost.count("HEAD") == heads, cost.verb
                assert repeated(cost, "PUT") == [], cost.verb
            if cost.verb.startswith("upsert"):
                assert cost.count("PUT") <= most_puts(NODES if "nodes" in cost.verb else 1)
            if cost.verb in ("upsert", "append", "status", "explain"):
                assert cost.count("GET") <= 1, cost.verb


def test_a_plain_table_asks_for_more(server: ObjectStore, tmp_path: Path) -> None:
    """They merge as they write; and yet a read of what they leave takes as many requests."""
    plain = plain_counts(server, server.catalog(tmp_path / "plain.db", folder="plain"))
    life = Life(server, server.catalog(tmp_path / "ours.db", folder="ours")).costs()
    ours = list(islice(life, len(plain)))

    lines = beside_table(ours, plain)
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {cost.verb}" for cost in ours]
    for cost, (verb, counts) in zip(ours, plain, strict=True):
        if verb.startswith(("upsert", "read")):
            assert len(cost.asked) <= sum(counts.values())


def most_puts(nodes: int) -> int:
    """Return the most of an upsert: two files of a node, a manifest, a manifest list, metadata."""
    return 2 * nodes + 3


def repeated(cost: Cost, kind: str) -> list[str]:
    """Return what a verb asked for more than once."""
    counts = Counter(each.path for each in cost.asked if each.kind == kind)
    return [path for path, count in counts.items() if count > 1]


def left(server: ObjectStore, catalog: Mapping[str, str]) -> list[str]:
    """Return the files below a warehouse; the markers of folders, which Arrow leaves, are none."""
    warehouse = catalog["warehouse"].removeprefix("s3://")
    return [path for path in server.keys(warehouse) if not path.endswith("/")]
