"""Deletes for tables whose keys may change their partition: where the key's row is now.

Rules:
    - A key dies in the partition of its first event (the old row's, if that is known), in every
      partition where it was located, and in the one it goes to, which may hold a row that
      nobody located. Once in each: these are sets.
    - Without a search the old row is trusted to be where the events say.

Must not know: how a row is searched for.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from arctic.mor.keys import factorise
from arctic.write.change_deletes import ChangeDeletes
from arctic.write.collapse import Survivors
from arctic.write.gather import take_rows
from arctic.write.route import Partitions, Places, find_partitions, join_partitions
from arctic.write.target import Locate, WriteTarget


def locate_rows(
    chunk: pa.Table, survivors: Survivors, *, target: WriteTarget, locate: Locate
) -> tuple[pa.Table, np.ndarray]:
    """Search for the current rows of the keys that are deleted.

    Returns:
        Rows with the key and partition source columns, and which survivor each belongs to.
    """
    wanted = np.flatnonzero(survivors.deletes)
    keys = take_rows(chunk.select(list(target.key)), survivors.last[wanted])
    located = locate(keys)
    owners = _owners(keys, located)
    known = owners >= 0
    return located.filter(pa.array(known)), wanted[owners[known]]


def deletes_across_partitions(
    survivors: Survivors,
    offsets: np.ndarray,
    *,
    node_indices: np.ndarray,
    given: Partitions | None,
    located: pa.Table | None,
    owners: np.ndarray,
    target: WriteTarget,
) -> ChangeDeletes:
    """Delete each key wherever it may have a row.

    Args:
        survivors: of the chunk.
        offsets: the delete offset of each survivor.
        node_indices: of all rows of the chunk, under the change mask.
        given: partitions of all rows of the chunk; None: the rows do not say.
        located: rows that were found, with the partition source columns; None: no search.
        owners: which survivor each located row belongs to.
        target: the table.
    """
    wanted = np.flatnonzero(survivors.deletes) if given is not None else owners[:0]
    first, last = survivors.first[wanted], survivors.last[wanted]
    parts = [] if given is None else [given.take(first)]
    parts += [] if located is None else [find_partitions(located, target)]
    parts += [] if given is None else [given.take(last)]
    partitions = join_partitions(parts)
    keys = np.concatenate([wanted, owners, wanted])
    unknown = np.full(len(wanted), -1, dtype=np.int64)
    found = np.concatenate([unknown, np.arange(len(owners), dtype=np.int64), unknown])
    # Of several deletes in one partition the first stays: it knows most of the old row.
    pairs = keys * max(len(partitions.values), 1) + partitions.codes
    chosen = np.unique(pairs, return_index=True)[1]
    from_first = chosen < len(wanted)
    keys, found = keys[chosen], found[chosen]
    content = np.where(from_first, survivors.first[keys], survivors.last[keys])
    return ChangeDeletes(
        content=content,
        images=from_first & survivors.images[keys],
        found=found,
        offsets=offsets[keys],
        places=Places(
            partitions=partitions.take(chosen),
            node_indices=node_indices[content],
            mask=target.options.change_mask,
        ),
    )


def _owners(keys: pa.Table, located: pa.Table) -> np.ndarray:
    names = keys.column_names
    both = pa.concat_tables([keys, located.select(names).cast(keys.schema)])
    codes, count = factorise(both)
    owners = np.full(count, -1, dtype=np.int64)
    owners[codes[: keys.num_rows]] = np.arange(keys.num_rows)
    return owners[codes[keys.num_rows :]]
