"""A merge that needs no stored row: each row of the source is an upsert, a delete, or nothing.

Rules:
    - A row is decided if it means the same whether its key is stored or not: an update and an
      insert of the same values, a delete and no insert. If one is not, the table must be read.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from arctic.columns.key_codes import factorise
from arctic.job.edit.commit_edit import EditedTable, event_schema, events
from arctic.job.edit.expressions import SOURCE
from arctic.job.edit.key_changes import refuse_twice
from arctic.job.edit.merging.merge_clauses import MergePlan, When
from arctic.job.edit.merging.merge_source import source_keys, source_rows
from arctic.job.edit.sql_rows import (
    ROW,
    clause_case,
    column_of,
    numbered_rows,
    own,
    query,
)

_M, _N = own("m"), own("n")
"""The clause that a row of the source takes if its key is stored, and if it is not."""


def blind_events(table: EditedTable, source: pa.Table, plan: MergePlan) -> pa.Table | None:
    """Return what a merge does as events; None: rows of the table must be read.

    Args:
        table: with a key.
        source: its rows, no key null.
        plan: on the key, and no expression reads a row of the table.

    Raises:
        InvalidInputError: two rows of the source that act have one key, and not all delete it.
    """
    described, key = table.opened.table, plan.key or {}
    schema = table.opened.arrow_schema
    if not described.partition_follows_key:
        return None  # where the stored row lies must be looked up
    needed = {field.name for field in schema if not field.nullable} - set(key)
    if plan.deletes and (needed or described.ordering_columns):
        return None  # a delete has values of the stored row
    matched, other = plan.of(When.MATCHED), plan.of(When.NOT_MATCHED)
    found = query(
        f"SELECT {clause_case([each.condition for each in matched])} AS {_M}, "
        f"{clause_case([each.condition for each in other])} AS {_N}, {ROW} FROM {SOURCE} "
        f"ORDER BY {ROW}",
        {SOURCE: numbered_rows(source)},
        subject="merge",
    )
    m = np.asarray(found.column(_M).to_numpy()).astype(np.int64)
    n = np.asarray(found.column(_N).to_numpy()).astype(np.int64)
    deletes = np.array([each.values is None for each in matched] + [False])[m]
    if ((n >= 0) != ((m >= 0) & ~deletes)).any():
        return None
    keys = source_keys(table, source, key)
    gone = _once(keys.filter(pa.array(deletes)))
    refuse_twice(
        pa.concat_tables([gone, keys.filter(pa.array((m >= 0) & ~deletes))]),
        why="cardinality violation: several rows of the source have it",
        name=described.name,
    )
    parts = [events(gone, "D", event_schema(table.opened))]
    for pair in sorted({(int(a), int(b)) for a, b in zip(m, n, strict=True) if b >= 0}):
        updates, inserts = matched[pair[0]].values or {}, other[pair[1]].values or {}
        whole = {**{ours: column_of(SOURCE, theirs) for ours, theirs in key.items()}, **updates}
        if set(whole) != set(schema.names):
            return None  # the others keep what is stored
        places = np.flatnonzero((m == pair[0]) & (n == pair[1]))
        rows = source_rows(table, source, places, whole)
        differ = [name for name in schema.names if whole[name] != inserts[name]]
        if differ:
            new = source_rows(table, source, places, inserts)
            if not _same(rows.select(differ), new.select(differ)):
                return None
        is_own = all(whole[ours] == column_of(SOURCE, theirs) for ours, theirs in key.items())
        if not is_own and not _same(rows.select(list(key)), keys.take(pa.array(places))):
            return None
        parts.append(events(rows, "U", event_schema(table.opened)))
    return pa.concat_tables(parts)


def _once(keys: pa.Table) -> pa.Table:
    """Return keys of which several rows may be deletes, each once."""
    codes, _ = factorise(keys)
    _, first = np.unique(codes, return_index=True)
    return keys.take(pa.array(np.sort(first)))


def _same(left: pa.Table, right: pa.Table) -> bool:
    """Say whether values are the same; False where they are nested, which says nothing."""
    for name in left.column_names:
        before, after = (rows.column(name).combine_chunks() for rows in (left, right))
        if pa.types.is_nested(before.type):
            return False
        if pa.types.is_floating(before.type):
            # Two zeros are equal, and two values.
            bits = pa.int64() if before.type == pa.float64() else pa.int32()
            before, after = before.view(bits), after.view(bits)
        equal = pc.fill_null(pc.equal(before, after), False)
        both = pc.and_(pc.is_null(before), pc.is_null(after))
        if not pc.all(pc.or_(equal, both), min_count=0).as_py():
            return False
    return True
