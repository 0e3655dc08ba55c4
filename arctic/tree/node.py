"""A node of the arctic tree: all keys whose hash ends in the same bits.

Rules:
    - A mask is ``2**depth - 1``; the index is between 0 and the mask, both included.
    - ``node_id = mask + 1 + index``; ids start at 1, and 1 is the root.
    - Low bits come first: the children of ``(mask, index)`` differ in the *top* bit of their
      index, so this is not a heap numbering.

Source: amoro DataTreeNode @96a4d781a. Differs: a mask that is not ``2**n - 1`` and an id below
1 are refused (Amoro accepts the first and never returns from the second), and containment is
called ``is_within``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from arctic.errors import InvalidInputError

MAX_DEPTH = 31
"""The key hash has 31 bits, so deeper nodes would hold nothing new."""
MAX_MASK = (1 << MAX_DEPTH) - 1


@dataclass(frozen=True, slots=True, order=True)
class TreeNode:
    """All keys with ``hash & mask == index``.

    >>> TreeNode(3, 2).node_id
    6
    >>> [child.node_id for child in TreeNode(1, 0).children()]
    [4, 6]
    """

    mask: int
    """``2**depth - 1``."""
    index: int
    """Between 0 and ``mask``, inclusive."""

    def __post_init__(self) -> None:
        """Refuse what is not a node."""
        if self.mask < 0 or self.mask & (self.mask + 1) or self.mask >= 1 << MAX_DEPTH:
            raise InvalidInputError(
                f"tree node mask {self.mask!r}: expected 2**depth - 1 with depth 0 to {MAX_DEPTH}"
            )
        if not 0 <= self.index <= self.mask:
            raise InvalidInputError(
                f"tree node index {self.index!r}: expected 0 to {self.mask} under mask {self.mask}"
            )

    @classmethod
    def from_id(cls, node_id: int) -> TreeNode:
        """Return the node with this id.

        >>> TreeNode.from_id(6)
        TreeNode(mask=3, index=2)

        Raises:
            InvalidInputError: an id below 1, or deeper than 31 levels.
        """
        if node_id < 1:
            raise InvalidInputError(f"tree node id {node_id!r}: expected a number >= 1")
        mask = (1 << (node_id.bit_length() - 1)) - 1
        return cls(mask, node_id - mask - 1)

    @property
    def node_id(self) -> int:
        """The number that stands in file names."""
        return self.mask + 1 + self.index

    @property
    def depth(self) -> int:
        """How many low hash bits the node fixes."""
        return self.mask.bit_length()

    def parent(self) -> TreeNode:
        """Return the node one level up.

        Raises:
            InvalidInputError: the root has none.
        """
        if self.mask == 0:
            raise InvalidInputError("the root node has no parent")
        return TreeNode(self.mask >> 1, self.index & (self.mask >> 1))

    def lineage_ids(self) -> tuple[int, ...]:
        """Return the ids of this node, its parent and so on, the root last.

        >>> TreeNode(7, 6).lineage_ids()
        (14, 6, 2, 1)
        """
        return _lineage_ids(self.mask, self.index)

    def capped(self, mask: int) -> TreeNode:
        """Return the node, or where it is deeper, its ancestor under this mask.

        >>> TreeNode(7, 6).capped(3), TreeNode(1, 0).capped(3)
        (TreeNode(mask=3, index=2), TreeNode(mask=1, index=0))
        """
        mask = min(self.mask, mask)
        return TreeNode(mask, self.index & mask)

    def children(self) -> tuple[TreeNode, TreeNode]:
        """Return the two nodes that this one splits into, low index first."""
        mask = 2 * self.mask + 1
        return TreeNode(mask, self.index), TreeNode(mask, self.index + self.mask + 1)

    def is_within(self, other: TreeNode) -> bool:
        """Say whether every key of this node is a key of ``other``; true for itself.

        >>> TreeNode(3, 2).is_within(TreeNode(1, 0))
        True
        """
        return self.mask >= other.mask and self.index & other.mask == other.index

    def overlaps(self, other: TreeNode) -> bool:
        """Say whether some key belongs to both nodes."""
        return self.is_within(other) or other.is_within(self)


ROOT = TreeNode(0, 0)
"""The node that every key belongs to."""


@lru_cache(maxsize=2**12)
def _lineage_ids(mask: int, index: int) -> tuple[int, ...]:
    masks = (mask >> step for step in range(mask.bit_length() + 1))
    return tuple(each + 1 + (index & each) for each in masks)


def bucket_mask(bucket_count: int, *, subject: str) -> int:
    """Return the mask of a bucket count such as ``change.file-index.hash-bucket``.

    Args:
        bucket_count: a power of two, at least 1.
        subject: what carries the count, for the error message.

    Raises:
        InvalidInputError: any other number; a mask of another shape would misplace rows.
    """
    if bucket_count < 1 or bucket_count & (bucket_count - 1) or bucket_count > 1 << MAX_DEPTH:
        raise InvalidInputError(
            f"{subject} = {bucket_count!r}: expected a power of two from 1 to 2**{MAX_DEPTH}"
        )
    return bucket_count - 1
