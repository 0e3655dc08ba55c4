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
from functools import lru_cache

from arctic.errors import FormatError
from arctic.options import BASE_BUCKETS
from arctic.table.property_names import TREES
from arctic.tree.node import bucket_mask
from arctic.tree.node_tree import NodeTree

TINY_ROWS = 262_144
"""More rows are worth several nodes, however few bytes they take: several tasks go over them."""

_REMEDY = "remove it, and the trees grow anew"
_MOST_CHARACTERS = 100_000
"""Catalogs keep properties whole. The largest trees stay; the others are found again when they are
needed, from the files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTrees:
    """The tree of each partition."""

    least: NodeTree
    """Of every partition that is not mentioned."""
    by_path: Mapping[str, str]
    """Their texts, by partition path: most of very many are never asked for."""
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
            by_path = {path: str(tree) for path, tree in found.items()}
        except (ValueError, AttributeError) as error:
            raise FormatError(
                f"table property {TREES} = {text!r}: expected a JSON object of trees; {_REMEDY}"
            ) from error
        return cls(least=least, by_path=by_path, grow=True)

    def tree(self, path: str) -> NodeTree:
        """Return the tree of a partition.

        Raises:
            FormatError: its text cannot be read.
        """
        text = self.by_path.get(path)
        return self.least if text is None else read_tree(text)

    def changed(self, trees: Mapping[str, NodeTree]) -> NodeTrees:
        """Return them with other trees of some partitions."""
        known = {**self.by_path, **{path: str(tree) for path, tree in trees.items()}}
        least = str(self.least)
        return replace(self, by_path={path: text for path, text in known.items() if text != least})

    def text(self) -> str | None:
        """Return the value of the property; None: there is nothing to remember."""
        kept: dict[str, str] = {}
        room = _MOST_CHARACTERS
        for path, text in sorted(self.by_path.items(), key=_largest_first):
            room -= len(json.dumps({path: text}))
            if room >= 0:
                kept[path] = text
        return json.dumps(kept, separators=(",", ":")) if kept else None


@lru_cache(maxsize=256)
def read_tree(text: str) -> NodeTree:
    """Return the tree of a text in the property.

    Raises:
        FormatError: it cannot be read.
    """
    try:
        return NodeTree.parse(text)
    except FormatError as error:
        raise FormatError(f"table property {TREES}: {error.message}; {_REMEDY}") from error


def _largest_first(item: tuple[str, str]) -> tuple[int, int, str]:
    path, text = item
    count, _, divided = text.partition(":")
    return -int(count), -len(divided), path
