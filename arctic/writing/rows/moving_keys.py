"""Deletes for tables whose keys may change their partition: where the key's row is now.

Rules:
    - A key dies in the partition of its first event (the old row's, if that is known), in every
      partition where it was located, and in the one it goes to, which may hold a row that
      nobody located. Once in each: these are sets.
    - Each row of a plain delete names a partition to delete from, also several for one key.
    - Without a search the old row is trusted to be where the events say: where they go, or where
      columns of their own have it.

Must not know: how a row is searched for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from arctic.columns.key_codes import factorise
from arctic.writing.route import Partitions, Places, find_partitions, join_partitions
from arctic.writing.rows.actions import Action
from arctic.writing.rows.collapse import Survivors
from arctic.writing.rows.delete_rows import ChangeDeletes
from arctic.writing.rows.gather import Gathered, take_rows
from arctic.writing.target import Locate, WriteTarget


def old_rows(
    chunk: Gathered,
    survivors: Survivors,
    *,
    target: WriteTarget,
    locate: Locate | None,
    chunk_tells: bool,
    stored_columns: Sequence[str],
) -> tuple[pa.Table | None, np.ndarray]:
    """Collect where rows of the keys that are deleted may be.

    Args:
        chunk: the rows that ``survivors`` are of.
        survivors: of the chunk.
        target: the table.
        locate: searches for the current rows; None: no search.
        chunk_tells: whether each row of the chunk says where a row is to be deleted.
        stored_columns: as those of the request.

    Returns:
        Rows with the key and partition source columns, and which survivor each belongs to; None
        where nothing is known.
    """
    wanted = np.flatnonzero(survivors.deletes)
    fields = [target.schema.field(name) for name in _place_columns(target)]
    schema = pa.schema([field.with_nullable(True) for field in fields])
    keys = take_rows(chunk.rows.select(list(target.key)), survivors.last[wanted])
    parts = [chunk.rows.select(schema.names).cast(schema)] if chunk_tells else []
    moved = _moved(chunk, target, stored_columns) if stored_columns else None
    if moved is not None:
        parts.append(moved.cast(schema))
    if locate is not None and len(wanted):
        parts.append(locate(keys).select(schema.names).cast(schema))
    if not parts:
        return None, wanted[:0]
    found = pa.concat_tables(parts)
    owners = _owners(keys, found)
    known = owners >= 0
    return found.filter(pa.array(known)), wanted[owners[known]]


def deletes_across_partitions(
    survivors: Survivors,
    offsets: np.ndarray,
    *,
    node_ids: np.ndarray,
    given: Partitions | None,
    located: pa.Table | None,
    owners: np.ndarray,
    target: WriteTarget,
) -> ChangeDeletes:
    """Delete each key wherever it may have a row.

    Args:
        survivors: of the chunk.
        offsets: the delete offset of each survivor.
        node_ids: of all rows of the chunk, whatever partition their old row is in.
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
            node_ids=node_ids[content],
        ),
        events=survivors.last[keys],
    )


def _moved(chunk: Gathered, target: WriteTarget, stored_columns: Sequence[str]) -> pa.Table | None:
    """Return the keys of rows that take the place of others elsewhere, and where these are."""
    rows, actions = chunk.rows, chunk.actions
    moving = [name for name in target.partition_sources if name not in target.key]
    stored = dict(zip(moving, stored_columns, strict=True))
    differ = np.zeros(rows.num_rows, bool)
    for name, before in stored.items():
        differ |= _differ(rows.column(name), rows.column(before))
    if actions is not None:
        differ &= actions == Action.UPDATE_AFTER
    if not differ.any():
        return None
    names = _place_columns(target)
    some = rows.select([stored.get(name, name) for name in names]).rename_columns(list(names))
    return take_rows(some, np.flatnonzero(differ))


def _differ(one: pa.ChunkedArray, other: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Say where two columns may have different values; of two nulls they have not."""
    if pat.is_floating(one.type):
        return np.ones(len(one), bool)  # Arrow takes the two zeros for equal
    one_null = pc.xor(pc.is_null(one), pc.is_null(other))
    found = pc.fill_null(pc.not_equal(one, other.cast(one.type)), False)
    return np.asarray(pc.or_(found, one_null).to_numpy(), bool)


def _place_columns(target: WriteTarget) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*target.key, *target.partition_sources)))


def _owners(keys: pa.Table, found: pa.Table) -> np.ndarray:
    both = pa.concat_tables([keys, found.select(keys.column_names).cast(keys.schema)])
    codes, count = factorise(both)
    owners = np.full(count, -1, dtype=np.int64)
    owners[codes[: keys.num_rows]] = np.arange(keys.num_rows)
    return owners[codes[keys.num_rows :]]
