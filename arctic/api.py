"""The verbs a user calls, without Spark: tables, reads, writes and plans.

Every function takes ``warehouse=``, a folder with the embedded SQLite catalog, or ``catalog=``,
the name of a PyIceberg catalog or a mapping of its properties.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from arctic import options as opt
from arctic.errors import InvalidInputError, NotFoundError
from arctic.iceberg import catalog as catalogs
from arctic.iceberg import create_table as tables
from arctic.iceberg.commit_notes import watermarks
from arctic.iceberg.evolve_schema import SchemaChange
from arctic.iceberg.evolve_schema import evolve_schema as evolve_stores
from arctic.iceberg.filters import parse_filter
from arctic.iceberg.inspect import METADATA_TABLES
from arctic.iceberg.open_table import OpenTable
from arctic.iceberg.open_table import open_table as open_stores
from arctic.job.analyze import analyze as touched_by
from arctic.job.auto_optimize import optimize_after_write, optimizes_after_write
from arctic.job.change_batch import begin_changes
from arctic.job.change_range import Moment, range_options
from arctic.job.expire_job import expire_table
from arctic.job.optimize_job import optimize_table
from arctic.job.progress import default_progress
from arctic.job.reference import Catalog, call_options, parse_reference, table_reference
from arctic.job.run_tasks import LocalRunner, TaskRunner
from arctic.job.scan_job import ScanJob, begin_scan, scan_opened
from arctic.job.survey import table_status
from arctic.job.write_job import begin_write, commit_write
from arctic.job.write_task import write_task
from arctic.optimize.report import OptimizeReport, TableStatus
from arctic.table.expire_report import ExpireReport


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteReport:
    """What one write did."""

    snapshot_id: int | None
    """The one snapshot it made; None when there was nothing to commit."""
    rows: int
    """Rows that came in."""
    inserts: int
    """Rows written as data."""
    deletes: int
    """Keys written as deletes."""
    files: int
    bytes: int
    seconds: float


class Table:
    """A table that is open: its description, and the verbs on it."""

    def __init__(self, opened: OpenTable, options: Mapping[str, str]) -> None:
        self._opened = opened
        self._options = options

    def __repr__(self) -> str:
        kind = f"primary_key={list(self.primary_key)}" if self.is_keyed else "no primary key"
        return f"<arctic.Table {self.name!r}, {len(self.schema)} columns, {kind}>"

    @property
    def name(self) -> str:
        """The dotted identifier."""
        return self._opened.table.name

    @property
    def schema(self) -> pa.Schema:
        """The columns as an Arrow schema, without field ids."""
        return pa.schema([field.remove_metadata() for field in self._opened.arrow_schema])

    @property
    def is_keyed(self) -> bool:
        """Whether it has a primary key, hence takes upserts."""
        return self._opened.table.is_keyed

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The key columns in key order; empty without a key."""
        return self._opened.table.primary_key

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The partition fields, as ``create_table`` takes them."""
        return self._opened.partitioner.texts

    @property
    def properties(self) -> dict[str, str]:
        """The table properties of the base store, and the watermarks of both stores."""
        return {**self._opened.table.properties, **watermarks(self._opened)}

    def read(self, **arguments: Any) -> pa.RecordBatchReader:
        """Read rows; takes the arguments of ``arctic.read``."""
        return _reader(_scan(self._options, **arguments))

    def read_changes(self, **arguments: Any) -> pa.RecordBatchReader:
        """Read what changed; takes the arguments of ``arctic.read_changes``."""
        return _changes(self._options, **arguments)

    def write(
        self, data: Any, *, mode: str, options: Mapping[str, str] | None = None
    ) -> WriteReport:
        """Write rows; takes the arguments of ``arctic.write``."""
        return _write(data, _joined({**self._options, "write-mode": mode}, options))

    def optimize(self, **arguments: Any) -> OptimizeReport:
        """Optimize in this process; takes the arguments of ``arctic.optimize`` but ``spark``."""
        return _optimize(self._options, **arguments)

    def status(self, **arguments: Any) -> TableStatus:
        """Say what is due; takes the arguments of ``arctic.status``."""
        return _status(self._options, **arguments)

    def explain(self, **arguments: Any) -> str:
        """Return the plan of a read; takes the arguments of ``arctic.explain``."""
        return _explain(self._options, **arguments)

    def expire(self, **arguments: Any) -> ExpireReport:
        """Remove what is no longer needed; takes the arguments of ``arctic.expire``."""
        return _expire(self._options, **arguments)

    def evolve_schema(self, **changes: Any) -> Table:
        """Change the columns; takes the arguments of ``arctic.evolve_schema``."""
        return _evolve(self._options, **changes)

    def inspect(self, name: str) -> pa.Table:
        """Return a metadata table: snapshots, files, partitions, nodes, history or refs.

        Raises:
            NotFoundError: another name.
        """
        if name not in METADATA_TABLES:
            raise NotFoundError(
                f"metadata table {name!r}; expected one of {', '.join(METADATA_TABLES)}"
            )
        return begin_scan({**self._options, "path": f"{self.name}.{name}"}).table()


def create_table(
    identifier: str,
    schema: Any,
    *,
    primary_key: Sequence[str] = (),
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    exist_ok: bool = False,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> Table:
    """Create a table and return it.

    Args:
        identifier: ``namespace.table``; the namespace is created if need be.
        schema: a ``pyarrow.Schema`` or a PyIceberg ``Schema``.
        primary_key: key columns in key order; none makes a table without upserts.
        partition_by: such as ``["day(ts)", "bucket(16, id)", "region"]``.
        properties: table properties, see ``docs/options.md``.
        exist_ok: return the table that is there, if it has the same columns, key and partitions.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        AlreadyExistsError: the name is taken.
        InvalidInputError: a column type, key, partition field or property that cannot be.
        UnsupportedError: a partition transform that a keyed table cannot carry.
    """
    options = call_options(identifier, warehouse, catalog)
    reference = table_reference(options)
    opened = tables.create_table(
        reference.config,
        reference.identifier,
        schema,
        primary_key=tuple(primary_key),
        partition_by=tuple(partition_by),
        properties=dict(properties or {}),
        exist_ok=exist_ok,
    )
    return Table(opened, options)


def open_table(
    identifier: str, *, warehouse: str | None = None, catalog: Catalog | None = None
) -> Table:
    """Open a table.

    Raises:
        NotFoundError: no such table.
        UnsupportedError: an Iceberg table that is not Arctic's, or of a newer format.
        FormatError: half of a table, or stores that do not fit together.
    """
    options = call_options(identifier, warehouse, catalog)
    reference = table_reference(options)
    return Table(open_stores(reference.config, reference.identifier), options)


def drop_table(
    identifier: str,
    *,
    purge: bool = False,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> None:
    """Remove a table from the catalog, and with ``purge`` its files too.

    Raises:
        NotFoundError: no such table.
    """
    reference = table_reference(call_options(identifier, warehouse, catalog))
    tables.drop_table(reference.config, reference.identifier, purge=purge)


def evolve_schema(
    identifier: str,
    *,
    add: Mapping[str, pa.DataType | pa.Field] | None = None,
    rename: Mapping[str, str] | None = None,
    widen: Mapping[str, pa.DataType] | None = None,
    drop: Sequence[str] = (),
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> Table:
    """Change the columns of a table, all at once, and return it as it is then.

    No file is rewritten: older rows have null in an added column. Writers and readers that are at
    work finish with the columns they began with.

    Args:
        identifier: ``namespace.table``.
        add: name -> type of optional columns, which come after the others.
        rename: old name -> new name.
        widen: column -> ``int64`` for int32, ``float64`` for float32, or a decimal of more digits.
        drop: columns that go. Added again, a column of that name begins with nulls.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: an unknown or taken name, a type that values would not survive, or a
            column of the key or of a partition field that is to be dropped or retyped.
        ConflictError: other changes of the columns won every try; nothing was changed.
        CommitStateUnknownError: the catalog did not answer; look at the columns.
    """
    options = call_options(identifier, warehouse, catalog)
    return _evolve(options, add=add, rename=rename, widen=widen, drop=drop)


def list_tables(
    namespace: str | None = None,
    *,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> list[str]:
    """Return the dotted names of the tables in a namespace, or in all, sorted."""
    config = catalogs.CatalogConfig.from_options(call_options(None, warehouse, catalog))
    return list(catalogs.list_tables(config, namespace))


def read(
    identifier: str,
    *,
    columns: Sequence[str] | None = None,
    filter: Any = None,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> pa.RecordBatchReader:
    """Read the current rows as a stream of Arrow batches.

    Args:
        identifier: ``namespace.table``, or ``namespace.table.snapshots`` and the like.
        columns: columns to read, in this order; all if None.
        filter: rows to keep, as ``"amount > 10 and region = 'eu'"`` or a PyIceberg expression.
        options: read options, such as ``{"snapshot-id": "..."}``.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: one row group of a data file, and the deletes of one node task up to
    ``merge.max-delete-bytes``; all that for each core of ``parallelism``, but at most four times.

    Raises:
        NotFoundError: no such table, column or snapshot.
        InvalidInputError: a filter or option that cannot be understood.
        UnsupportedError: content that would be read wrongly.
    """
    base = call_options(identifier, warehouse, catalog)
    return _reader(_scan(base, columns=columns, filter=filter, options=options))


def read_changes(
    identifier: str,
    *,
    start: Moment | None = None,
    end: Moment | None = None,
    columns: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> pa.RecordBatchReader:
    """Read what changed between two moments, as a stream of Arrow batches.

    The columns are those of the table, then ``_transaction_id``, ``_file_offset`` and
    ``_change_action``: ``+I``, ``-U``, ``+U`` or ``-D``. The events of one key come in their order.

    Args:
        identifier: ``namespace.table``.
        start: exclusive; a snapshot id of the change store, or a time with a zone. None: the rows
            that are there now come first, each as ``+I``, then the changes that they lack.
        end: inclusive, as ``start``; None: now.
        columns: columns to read, in this order; all if None.
        options: such as ``{"streaming-skip-overwrite-snapshots": "true"}``.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: small files of one commit and node up to 64 MiB, a run of row groups of each larger one.

    Raises:
        NotFoundError: no such table, column or snapshot, or history that has expired.
        InvalidInputError: a range or option that cannot be understood.
        UnsupportedError: rows were replaced in between, and no change says so.
    """
    base = call_options(identifier, warehouse, catalog)
    return _changes(base, start=start, end=end, columns=columns, options=options)


def write(
    identifier: str,
    data: Any,
    *,
    mode: str,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> WriteReport:
    """Write rows in one snapshot.

    Args:
        identifier: ``namespace.table``.
        data: a ``pyarrow`` table, batch or batch reader, or anything with the Arrow C stream
            interface (Polars, DuckDB, pandas).
        mode: ``upsert``, ``append``, ``delete`` or ``overwrite``.
        options: write options, such as ``{"ordering-column": "updated_at"}``.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: a bounded chunk of rows and two row groups for each core; the whole input where it must
    be ordered first (an ordering column, an overwrite of a keyed table, keys that may change their
    partition).

    Raises:
        InvalidInputError: columns, types, keys or options that do not fit; nothing is committed.
        ConflictError: other writers won every retry.
        CommitStateUnknownError: the catalog did not answer; look before writing again.
    """
    base = {**call_options(identifier, warehouse, catalog), "write-mode": mode}
    return _write(data, _joined(base, options))


def explain(
    identifier: str,
    *,
    columns: Sequence[str] | None = None,
    filter: Any = None,
    options: Mapping[str, str] | None = None,
    verbose: bool = False,
    analyze: bool = False,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> str:
    """Return the plan of a read as text: nodes, files, deletes, groups, and what was left out.

    The same table state and options give the same text. Arguments are those of ``read``; with
    ``verbose`` every file is listed, however many there are; with ``analyze`` the read is carried
    out here, and the text ends with the files and row groups that it touched.
    """
    base = call_options(identifier, warehouse, catalog)
    return _explain(
        base, verbose=verbose, analyze=analyze, columns=columns, filter=filter, options=options
    )


def optimize(
    identifier: str,
    *,
    type: str | None = None,
    where: Any = None,
    options: Mapping[str, str] | None = None,
    runner: TaskRunner | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> OptimizeReport:
    """Optimize as ``arctic.optimize`` does, wherever a runner takes the tasks.

    Arguments are those of ``arctic.optimize``; without ``runner`` tasks are threads.

    Memory, for each task that runs: the deletes of one node (``merge.max-delete-bytes``), the sort
    buffer (``self-optimizing.sort-buffer-bytes``), the write buffer and some row groups.
    """
    base = call_options(identifier, warehouse, catalog)
    return _optimize(base, type=type, where=where, options=options, runner=runner)


def status(
    identifier: str,
    *,
    where: Any = None,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> TableStatus:
    """Say what a table consists of, how far it is from ideal, and what is due; changes nothing.

    Arguments are those of ``optimize``.
    """
    return _status(call_options(identifier, warehouse, catalog), where=where, options=options)


def expire(
    identifier: str,
    *,
    dry_run: bool = False,
    options: Mapping[str, str] | None = None,
    warehouse: str | None = None,
    catalog: Catalog | None = None,
) -> ExpireReport:
    """Remove what is no longer needed: merged changes, old snapshots, files of nobody.

    Rows never change. What can still be read of the past afterwards is in ``docs/cleaning.md``.
    A run that was interrupted is finished by the next one.

    Args:
        identifier: ``namespace.table``.
        dry_run: change nothing, only report what would go and why.
        options: such as ``{"snapshot.keep.duration": "1d"}``; else the table's properties count.
        warehouse: folder of the embedded catalog.
        catalog: a PyIceberg catalog instead, by name or by properties.

    Memory: a path for each file that the snapshots of the table refer to.

    Raises:
        NotFoundError: no such table.
        InvalidInputError: an option that cannot be understood, or a table whose property
            ``gc.enabled`` forbids it.
        ConflictError: other writers won every retry; expire again.
        CommitStateUnknownError: the catalog did not answer; expire again, nothing is lost.
    """
    base = call_options(identifier, warehouse, catalog)
    return _expire(base, dry_run=dry_run, options=options)


def _evolve(
    options: Mapping[str, str],
    *,
    add: Mapping[str, pa.DataType | pa.Field] | None = None,
    rename: Mapping[str, str] | None = None,
    widen: Mapping[str, pa.DataType] | None = None,
    drop: Sequence[str] = (),
) -> Table:
    reference = table_reference(options)
    change = SchemaChange(
        add=dict(add or {}), rename=dict(rename or {}), widen=dict(widen or {}), drop=tuple(drop)
    )
    return Table(evolve_stores(reference.config, reference.identifier, change), options)


def _joined(base: Mapping[str, str], options: Mapping[str, str] | None) -> dict[str, str]:
    """Join the arguments of a call with its options, which must not say the same again."""
    for name in options or {}:
        if name.lower() in base:
            raise InvalidInputError(
                f"option {name} beside the argument that says it; expected one of them"
            )
    return {**base, **(options or {})}


def _scan(
    base: Mapping[str, str],
    *,
    columns: Sequence[str] | None = None,
    filter: Any = None,
    options: Mapping[str, str] | None = None,
) -> ScanJob:
    given = _joined(base, options)
    opt.check_known(given, opt.Scope.READ)
    reference = parse_reference(given)
    opened = open_stores(reference.config, reference.identifier)
    row_filter = None if filter is None else parse_filter(filter, opened)
    if row_filter is not None and reference.metadata_table is not None:
        raise InvalidInputError(
            f"a filter on metadata table {given['path']!r}; filter its rows instead"
        )
    return scan_opened(
        opened,
        given,
        metadata_name=reference.metadata_table,
        columns=columns,
        row_filter=row_filter,
    )


def _changes(
    base: Mapping[str, str],
    *,
    start: Moment | None = None,
    end: Moment | None = None,
    columns: Sequence[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> pa.RecordBatchReader:
    given = _joined({**base, **range_options(start=start, end=end)}, options)
    return _reader(begin_changes(given, columns=columns))


def _reader(job: ScanJob) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(job.schema, job.batches())


def _explain(
    base: Mapping[str, str], *, verbose: bool = False, analyze: bool = False, **arguments: Any
) -> str:
    job = _scan(base, **arguments)
    if job.plan is None:
        raise InvalidInputError(
            f"metadata table {base['path']!r} has no plan; name the table itself"
        )
    plan = job.plan.explain(verbose=verbose)
    return f"{plan}\n\n{touched_by(job)}" if analyze else plan


def _optimize(
    base: Mapping[str, str],
    *,
    type: str | None = None,
    where: Any = None,
    options: Mapping[str, str] | None = None,
    runner: TaskRunner | None = None,
) -> OptimizeReport:
    return optimize_table(
        _joined(base, options),
        type=type,
        where=where,
        runner=runner or LocalRunner(opt.default_parallelism()),
        progress=default_progress(),
    )


def _status(
    base: Mapping[str, str], *, where: Any = None, options: Mapping[str, str] | None = None
) -> TableStatus:
    return table_status(_joined(base, options), where=where)


def _expire(
    base: Mapping[str, str],
    *,
    dry_run: bool = False,
    options: Mapping[str, str] | None = None,
) -> ExpireReport:
    return expire_table(_joined(base, options), dry_run=dry_run)


def _write(data: Any, options: Mapping[str, str]) -> WriteReport:
    started = time.monotonic()
    optimizes = optimizes_after_write(options)
    reader = _batches(data)
    job = begin_write(options, reader.schema)
    result = write_task(
        job.work, reader, partition_id=0, task_id=0, threads=opt.default_parallelism()
    )
    commit = commit_write(job, [result])
    report = WriteReport(
        snapshot_id=None if commit is None else commit.snapshot_id,
        rows=result.rows_in,
        inserts=result.inserts,
        deletes=result.deletes,
        files=len(result.files),
        bytes=sum(file.size_bytes for file in result.files),
        seconds=time.monotonic() - started,
    )
    if optimizes:
        optimize_after_write(options, LocalRunner(opt.default_parallelism()))
    return report


def _batches(data: Any) -> pa.RecordBatchReader:
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.Table):
        return data.to_reader()
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    raise InvalidInputError(
        f"data of type {type(data).__name__!r}; expected a pyarrow table, batch or batch reader, "
        "or an object with the Arrow C stream interface"
    )
