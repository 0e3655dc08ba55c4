"""Keys whose one row of before and one row of after say the same, found column by column.

Rules:
    - Values are equal as those of keys are: NaN equals NaN, null equals null, -0.0 is not 0.0.
    - A key with several rows on a side is never unchanged: nobody could say which is which.

Must not know: files, commits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from arctic.columns.integers.integer_index import IntArray
from arctic.columns.key_column import canonical

Truths = npt.NDArray[np.bool_]


def unchanged_keys(
    old: pa.Table, old_keys: IntArray, new: pa.Table, new_keys: IntArray
) -> IntArray:
    """Return the keys, ascending, whose rows are equal on both sides.

    Args:
        old: rows of before.
        old_keys: a number for each row's key, dense from 0.
        new: rows of after, with the same columns.
        new_keys: the numbers of theirs.
    """
    count = 1 + max(old_keys.max(initial=-1), new_keys.max(initial=-1))
    sides = [_only_rows(each, count) for each in (old_keys, new_keys)]
    keys = np.flatnonzero((sides[0] >= 0) & (sides[1] >= 0))
    rows = np.column_stack([side[keys] for side in sides])
    for name in old.schema.names:
        if not len(keys):
            break
        equal = equal_pairs(_taken(old, name, rows[:, 0]), _taken(new, name, rows[:, 1]))
        keys, rows = keys[equal], rows[equal]
    found: IntArray = keys
    return found


def equal_pairs(left: pa.Array, right: pa.Array) -> Truths:
    """Say of each pair whether its values are equal, at any depth.

    >>> equal_pairs(pa.array([[1, None], None, []]), pa.array([[1, None], [], []])).tolist()
    [True, False, True]
    """
    kind = left.type
    there, here = _is_valid(left), _is_valid(right)
    equal: Truths = there & here
    if pat.is_struct(kind):
        for number in range(kind.num_fields):
            equal &= equal_pairs(left.field(number), right.field(number))
    elif pat.is_nested(kind):
        equal[equal] = _equal_lists(left.filter(pa.array(equal)), right.filter(pa.array(equal)))
    else:
        same = pc.equal(canonical(left), canonical(right)).fill_null(False)
        equal = same.to_numpy(zero_copy_only=False)
    result: Truths = equal | ~(there | here)
    return result


def _equal_lists(left: pa.Array, right: pa.Array) -> Truths:
    """Compare lists or maps, none of them null."""
    lengths = np.diff(left.offsets.to_numpy())
    equal: Truths = lengths == np.diff(right.offsets.to_numpy())
    chosen = pa.array(equal)
    sides = zip(_values(left.filter(chosen)), _values(right.filter(chosen)), strict=True)
    owners = np.repeat(np.flatnonzero(equal), lengths[equal])
    for mine, theirs in sides:
        equal[owners[~equal_pairs(mine, theirs)]] = False
    return equal


def _values(lists: pa.Array) -> list[pa.Array]:
    first, last = int(lists.offsets[0].as_py()), int(lists.offsets[-1].as_py())
    parts = [lists.keys, lists.items] if pat.is_map(lists.type) else [lists.values]
    return [part.slice(first, last - first) for part in parts]


def _only_rows(keys: IntArray, count: int) -> IntArray:
    """Return the row of each key, -1 where it has none or several."""
    rows = np.full(count, -1, np.int64)
    rows[keys] = np.arange(len(keys))
    rows[np.bincount(keys, minlength=count) > 1] = -1
    return rows


def _taken(rows: pa.Table, name: str, at: IntArray) -> pa.Array:
    taken = rows.column(name).take(pa.array(at)).combine_chunks()
    if isinstance(taken, pa.ChunkedArray):  # without a chunk, some versions of pyarrow keep it
        return pa.concat_arrays(taken.chunks) if taken.num_chunks else pa.nulls(0, taken.type)
    return taken


def _is_valid(column: pa.Array) -> Truths:
    found: Truths = column.is_valid().to_numpy(zero_copy_only=False)
    return found
