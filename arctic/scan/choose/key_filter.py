"""What a row filter says of the primary key alone, which leaves out whole nodes, and deletes too.

Rules:
    - A change delete may be left out by a filter of the key, and by nothing else: a row that it
      could kill has the same key, so the filter drops that row as well.
    - Floating-point columns are left alone: 0.0 equals -0.0 in a filter and differs as a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from typing import cast

from arctic.errors import InvalidInputError
from arctic.table.files import TableFile, Value
from arctic.table.filters.predicate import And, ColumnTest, Op, Predicate, may_match, part_on
from arctic.tree.key_hash import hash_key
from arctic.tree.touched_nodes import TouchedNodes

_MAX_KEYS = 1_000
"""Above this a filter is taken to ask for any key: most nodes hold one of so many."""

_FEW_KEYS = 16
"""So few are in few row groups of a file, however large it is."""

_INEXACT = ("float", "double")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFilter:
    """The keys that a filter can match."""

    predicate: Predicate | None
    """The part of the filter that tests key columns only; None: there is none."""
    hashes: frozenset[int] | None
    """Of all keys that can match; None: of any."""
    nodes: TouchedNodes | None = None
    """Of all keys that are wanted, whatever the filter says; None: any."""
    _by_mask: dict[int, frozenset[int]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        row_filter: Predicate | None,
        *,
        key_ids: Sequence[int],
        key_types: Sequence[str],
        nodes: TouchedNodes | None = None,
    ) -> KeyFilter:
        """Take from a filter what concerns the key.

        Args:
            row_filter: the filter; None matches everything.
            key_ids: field ids of the key columns in key order; none for an unkeyed table.
            key_types: Iceberg's texts of their types.
            nodes: outside of which no key is wanted; None: all are.
        """
        exact = {
            number
            for number, type_text in zip(key_ids, key_types, strict=True)
            if type_text not in _INEXACT
        }
        return cls(
            predicate=part_on(row_filter, exact),
            hashes=_hashes(row_filter, key_ids, key_types) if len(exact) == len(key_ids) else None,
            nodes=nodes,
        )

    @property
    def asks_for_any(self) -> bool:
        """Whether no file is left out."""
        return self.predicate is None and self.hashes is None and self.nodes is None

    @property
    def asks_for_few(self) -> bool:
        """Whether a read of a node is hardly more than opening its files."""
        return self.hashes is not None and len(self.hashes) <= _FEW_KEYS

    def may_hold(self, file: TableFile) -> bool:
        """Say whether a file of data or change deletes can hold a key that matches."""
        return self._in_node(file) and may_match(self.predicate, file.bounds, file.record_count)

    def _in_node(self, file: TableFile) -> bool:
        if self.nodes is not None and not self.nodes.may_hold(file.node):
            return False
        if self.hashes is None:
            return True
        mask = file.node.mask
        indexes = self._by_mask.get(mask)
        if indexes is None:
            indexes = self._by_mask[mask] = frozenset(each & mask for each in self.hashes)
        return file.node.index in indexes


ANY_KEY = KeyFilter(predicate=None, hashes=None)
"""Of a read without a filter."""


def _hashes(
    row_filter: Predicate | None, key_ids: Sequence[int], key_types: Sequence[str]
) -> frozenset[int] | None:
    if row_filter is None or not key_ids:
        return None
    columns = [_values(row_filter, number) for number in key_ids]
    count = 1
    for values in columns:
        if values is None:
            return None
        count *= len(values)
    if count > _MAX_KEYS:
        return None
    keys = product(*(cast(frozenset[Value], values) for values in columns))
    try:
        return frozenset(hash_key(key, key_types) for key in keys)
    except InvalidInputError:
        # A literal that no value of the column equals has no hash; the bounds will tell.
        return None


def _values(predicate: Predicate, field_id: int) -> frozenset[Value] | None:
    """Return the only values that a column can have where the filter matches; None: any."""
    if isinstance(predicate, ColumnTest):
        if predicate.field_id != field_id:
            return None
        if predicate.op is Op.EQ:
            return frozenset([cast(Value, predicate.literal)])
        if predicate.op is Op.IN:
            return frozenset(cast(tuple[Value, ...], predicate.literal))
        return None
    found = [_values(child, field_id) for child in predicate.children]
    known = [values for values in found if values is not None]
    if isinstance(predicate, And):
        return reduce(frozenset.intersection, known) if known else None
    return frozenset[Value]().union(*known) if len(known) == len(found) else None
