"""One state of a table as a dataset of pyarrow: engines scan it with their own filters.

DuckDB finds such an object by its name in a query, Polars takes it in ``scan_pyarrow_dataset``.

Rules:
    - A dataset is one state of the table, so two scans of one query see the same rows.
    - A dataset can only be scanned. Other methods of pyarrow's class are refused: it has no files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from arctic.api.calls import Version, joined, past_options, reader
from arctic.errors import InvalidInputError, UnsupportedError
from arctic.iceberg.filters.engine_filter import engine_filter
from arctic.iceberg.filters.parse_filter import parse_filter
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.nudge import tell_read
from arctic.job.past_state import Moment
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.scan_job import read_schema, scan_opened
from arctic.job.reference import Catalog, call_options
from arctic.table.filters.predicate import Predicate

_AHEAD = 2
"""Batches that wait for the engine; pyarrow's own 16 may each be a whole run of row groups."""


class TableDataset(ds.Dataset):  # type: ignore[misc]
    """The rows of one state of a table."""

    def __init__(self, opened: OpenTable, asked: AskedRead) -> None:
        self._opened = opened
        self._asked = asked
        self._state = asked.state.pinned(opened)
        self._schema = read_schema(opened, asked, asked.columns)

    def __repr__(self) -> str:
        return f"<arctic dataset {self._opened.table.name!r}, {len(self._schema)} columns>"

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._schema

    def scanner(
        self,
        columns: Sequence[str] | Mapping[str, pc.Expression] | None = None,
        filter: pc.Expression | None = None,
        *,
        batch_readahead: int = _AHEAD,
        fragment_readahead: int = 0,
        cache_metadata: bool = True,
        fragment_scan_options: Any = None,
        **how: Any,
    ) -> ds.Scanner:
        """Begin to read.

        Args:
            columns: columns in this order, or expressions by name; None: all.
            filter: rows to keep. NaN is the greatest number in it, as to the engines.
            batch_readahead: as pyarrow has it, but never more than two.
            fragment_readahead: of no effect, as the next two.
            cache_metadata: see above.
            fragment_scan_options: see above.
            **how: what pyarrow's scanner takes besides.

        Memory: as ``arctic.read``, and two batches.

        Raises:
            UnsupportedError: a test of a floating column that has no form here.
        """
        names = None if columns is None or isinstance(columns, Mapping) else list(columns)
        pushed, rest, tested = self._divided(filter)
        # A scan without columns still counts rows.
        read = None if names is None else (*names, *tested) or self._schema.names[:1]
        job = scan_opened(
            self._opened,
            self._asked,
            columns=None if read is None else list(dict.fromkeys(read)),
            row_filter=pushed,
            snapshot=self._state,
        )
        tell_read(job.plan)
        return ds.Scanner.from_batches(
            reader(job),
            columns=columns if names is None else names,
            filter=rest,
            batch_readahead=min(batch_readahead, _AHEAD),
            **how,
        )

    def _divided(
        self, filter: pc.Expression | None
    ) -> tuple[Predicate | None, pc.Expression | None, tuple[str, ...]]:
        """Return what leaves out files as well, what is left for rows, and the columns of that."""
        if filter is None:
            return None, None, ()
        asked = engine_filter(filter, self._schema)
        taken = [part for part in asked.plain if self._is_taken(part)]
        pushed = parse_filter(reduce(and_, taken), self._opened) if taken else None
        is_all = asked.is_plain and len(taken) == len(asked.plain)
        return pushed, *((None, ()) if is_all else (asked.whole, asked.columns))

    def _is_taken(self, part: pc.Expression) -> bool:
        try:
            parse_filter(part, self._opened)
        except (InvalidInputError, UnsupportedError):
            return False
        return True

    def _scan_only(self, *_: Any, **__: Any) -> NoReturn:
        raise UnsupportedError(
            f"{self!r}: a table of Arctic is scanned whole; read it, and go on with its rows"
        )

    # What pyarrow's class would look for in memory that is not there.
    get_fragments = _get_fragments = replace_schema = filter = sort_by = join = join_asof = (
        _scan_only
    )
    partition_expression = property(_scan_only)

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(f"{self!r}: a dataset does not pickle; make one in each process")


def open_dataset(
    base: Mapping[str, str],
    *,
    as_of: Moment | None = None,
    version: Version | None = None,
    options: Mapping[str, str] | None = None,
) -> TableDataset:
    """Pin a state of a table for scans."""
    asked = AskedRead.of(joined({**base, **past_options(as_of, version)}, options))
    metadata_table = asked.reference.metadata_table
    if metadata_table is not None:
        raise InvalidInputError(
            f"dataset of metadata table {base['path']!r}: expected a table; its rows are small, "
            f"inspect({metadata_table!r}) returns them"
        )
    return TableDataset(asked.reference.open(), asked)


def dataset(
    identifier: str,
    *,
    as_of: Moment | None = None,
    version: Version | None = None,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> TableDataset:
    """Pin the newest state of a table, for engines that scan it with columns and filters of theirs.

    ``users = arctic.dataset("shop.users")``, then ``duckdb.sql("from users where id > 5")`` or
    ``polars.scan_pyarrow_dataset(users)``.

    Args:
        identifier: ``namespace.table``.
        as_of: another state, as ``arctic.read`` takes it.
        version: the same.
        options: read options.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table or snapshot.
        UnsupportedError: content that would be read wrongly.
    """
    base = call_options(identifier, warehouse, catalog)
    return open_dataset(base, as_of=as_of, version=version, options=options)
