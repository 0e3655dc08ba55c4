"""What a table remembers of its trees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arctic.errors import FormatError
from arctic.table.node_trees import NodeTrees
from arctic.tree.node_tree import NodeTree
from tests.factories.trees import trees

LEAST = NodeTree.uniform(3)


def trees_of(properties: dict[str, str], *, is_keyed: bool = True) -> NodeTrees:
    """Read the property of a table."""
    return NodeTrees.of(properties, is_keyed=is_keyed)


@given(st.dictionaries(st.text(max_size=5), trees(), max_size=3))
def test_trees_are_read_back(found: dict[str, NodeTree]) -> None:
    """Those that are not the least one; the others need no word."""
    text = trees_of({}).changed(found).text()
    again = trees_of({} if text is None else {"arctic.tree": text})

    assert all(again.tree(path) == tree for path, tree in found.items())
    assert again.tree("another") == LEAST
    assert (text is None) == all(tree == LEAST for tree in found.values())


def test_a_count_that_is_stated_is_kept() -> None:
    """However its name is spelt, and whatever else the table remembers."""
    remembered = {"arctic.tree": '{"":"8"}'}
    stated = trees_of({**remembered, "Base.file-index.hash-bucket": "2"})

    assert (stated.grow, stated.tree("")) == (False, NodeTree.uniform(1))
    assert (trees_of(remembered).grow, trees_of(remembered).tree("")) == (True, NodeTree.uniform(7))


def test_without_a_key_there_is_one_node() -> None:
    """Nothing says which other one a row would belong to."""
    found = trees_of({"arctic.tree": '{"":"8"}'}, is_keyed=False)
    assert (found.grow, found.tree("")) == (False, NodeTree.uniform(0))


@pytest.mark.parametrize("text", ["", "8", "[]", '{"": 7}', '{"": "7"}', '{"": "8:9,8"}'])
def test_what_cannot_be_read_is_named(text: str) -> None:
    """With what to do about it."""
    with pytest.raises(FormatError, match=r"arctic\.tree.*remove it"):
        trees_of({"arctic.tree": text}).tree("")


def test_the_largest_trees_are_remembered_where_there_are_too_many() -> None:
    """The property stays within what catalogs take."""
    many = {f"day={number:06}": NodeTree.uniform(7) for number in range(10_000)}
    text = trees_of({}).changed({**many, "zone=z": NodeTree.uniform(15)}).text()

    assert text is not None
    assert len(text) <= 100_000
    assert trees_of({"arctic.tree": text}).tree("zone=z") == NodeTree.uniform(15)
