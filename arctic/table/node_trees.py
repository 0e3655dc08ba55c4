"""The trees of all partitions of a table, as a property of its base store remembers them.

Rules:
    - They say where new files should go, and nothing about those that are there: who does not know
      them, or knows older ones, writes files that are as good.
    - A partition that is not mentioned has the table's least tree.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from arctic.errors import FormatError
from arctic.options import BASE_BUCKETS
from arctic.table.property_names import TREES
from arctic.tree.node import bucket_mask
from arctic.tree.node_tree import NodeTree

_MOST_CHARACTERS = 100_000
"""Catalogs keep properties whole. The largest trees stay; the others are found again when they are
needed, from the files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTrees:
    """The tree of each partition."""

    least: NodeTree
    """Of every partition that is not mentioned."""
    by_path: Mapping[str, NodeTree]
    """By partition path."""
    grow: bool
    """Whether partitions are divided into more nodes as they grow."""

    @classmethod
    def of(cls, properties: Mapping[str, str], *, is_keyed: bool) -> NodeTrees:
        """Read what a table says: a count of nodes that is stated holds for ever.

        Args:
            properties: of its base store.
            is_keyed: without a key there is nothing to divide by.

        Raises:
            FormatError: the property cannot be read.
            InvalidInputError: the count is no power of two.
        """
        count = BASE_BUCKETS.value({}, properties) if is_keyed else 1
        least = NodeTree.uniform(bucket_mask(count, subject=BASE_BUCKETS.name))
        if not is_keyed or BASE_BUCKETS.is_given(properties):
            return cls(least=least, by_path={}, grow=False)
        text = properties.get(TREES)
        try:
            found = {} if text is None else json.loads(text)
            by_path = {path: NodeTree.parse(tree) for path, tree in found.items()}
        except (FormatError, ValueError, AttributeError, TypeError) as error:
            raise FormatError(
                f"table property {TREES} = {text!r}: expected a JSON object of trees; remove it, "
                "and the trees grow anew"
            ) from error
        return cls(least=least, by_path=by_path, grow=True)

    def tree(self, path: str) -> NodeTree:
        """Return the tree of a partition."""
        return self.by_path.get(path, self.least)

    def changed(self, trees: Mapping[str, NodeTree]) -> NodeTrees:
        """Return them with other trees of some partitions."""
        known = {**self.by_path, **trees}
        kept = {path: tree for path, tree in known.items() if tree != self.least}
        return replace(self, by_path=kept)

    def text(self) -> str | None:
        """Return the value of the property; None: there is nothing to remember."""
        ordered = sorted(self.by_path.items(), key=lambda item: (-len(item[1].leaves), item[0]))
        kept: dict[str, str] = {}
        room = _MOST_CHARACTERS
        for path, tree in ordered:
            told = str(tree)
            room -= len(json.dumps({path: told}))
            if room >= 0:
                kept[path] = told
        return json.dumps(kept, separators=(",", ":")) if kept else None
