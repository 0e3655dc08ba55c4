"""A table that is open: what it is, and the verbs on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from arctic.api import calls
from arctic.api.consuming import Consumer, begin_consumer, forget_consumer
from arctic.api.html import description
from arctic.api.merge import Merge
from arctic.api.table_dataset import TableDataset, open_dataset
from arctic.api.table_states import TableStates
from arctic.api.write_data import WriteReport, batches_of, write_data
from arctic.columns.cast import plain_table
from arctic.errors import NotFoundError, UnsupportedError
from arctic.iceberg.commits.commit_notes import watermark_properties
from arctic.iceberg.tables.evolve_schema import SchemaChange, evolve_schema
from arctic.iceberg.tables.open_table import OpenTable
from arctic.iceberg.tables.set_properties import PropertyChange, set_properties
from arctic.iceberg.values.names import METADATA_TABLES
from arctic.job.changes.consumer_job import list_consumers
from arctic.job.changes.named_tables import rename_named
from arctic.job.edit.edit_report import EditReport
from arctic.job.edit.merging.merge_aliases import merge_aliases
from arctic.job.publish import after_edit
from arctic.job.publish.publish_job import end_publishing, publish_table
from arctic.job.publish.publish_report import PublishReport
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.scan_job import begin_scan
from arctic.job.reference import as_names, parse_reference, placed, table_reference
from arctic.job.upkeep.writers import retire_writer as retire
from arctic.job.upkeep.writers import writer_watermarks
from arctic.optimizing.report import OptimizeReport, TableStatus
from arctic.table.expire_report import ExpireReport


class Table(TableStates):
    """An open table: its description, and the verbs on it.

    The description (columns, key, properties) is as of the last open, ``refresh`` or change by a
    verb of this object. Rows are not kept: every read gets those of the moment it begins.
    """

    def __init__(self, opened: OpenTable, options: Mapping[str, str]) -> None:
        self._opened = opened
        self._options = placed(options)

    def __repr__(self) -> str:
        kind = f"primary_key={list(self.primary_key)}" if self.is_keyed else "no primary key"
        return f"<arctic.Table {self.name!r}, {len(self.schema)} columns, {kind}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows; reads nothing."""
        return description(
            self.name, self.schema, primary_key=self.primary_key, partition_by=self.partition_by
        )

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
        """Whether it has a primary key, and so takes upserts and deletes."""
        return self._opened.table.is_keyed

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The key columns in key order; empty for a table without a key."""
        return self._opened.table.primary_key

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The partition fields, as ``create_table`` takes them."""
        return self._opened.partitioner.texts

    @property
    def properties(self) -> dict[str, str]:
        """The table properties of the base store, and the watermarks of both stores."""
        return {**self._opened.table.properties, **watermark_properties(self._opened)}

    def read(self, **arguments: Any) -> pa.RecordBatchReader:
        """Read rows; takes the arguments of ``arctic.read``."""
        return calls.read_rows(self._options, **arguments)

    def dataset(self, **arguments: Any) -> TableDataset:
        """Pin a state for engines that scan; takes the arguments of ``arctic.dataset``."""
        return open_dataset(self._options, **arguments)

    def to_pandas(self, **arguments: Any) -> Any:
        """Return rows as a pandas DataFrame; takes the arguments of ``arctic.read``."""
        rows = self.read(**arguments).read_all()
        try:
            return rows.to_pandas()
        except ImportError as error:
            raise UnsupportedError("to_pandas() needs pandas: pip install pandas") from error

    def head(self, rows: int = 10, **arguments: Any) -> pa.Table:
        """Return the first rows that a read yields; takes the arguments of ``arctic.read``."""
        return calls.head(self._options, rows, **arguments)

    def count(self, **arguments: Any) -> int:
        """Return the number of rows; takes ``filter``, ``as_of`` and ``options`` of a read."""
        return calls.count(self._options, **arguments)

    def read_changes(self, **arguments: Any) -> pa.RecordBatchReader:
        """Read what changed; takes the arguments of ``arctic.read_changes``."""
        return calls.changes(self._options, **arguments)

    def consumer(self, name: str, **arguments: Any) -> Consumer:
        """Return a consumer of the changes; takes the arguments of ``arctic.consumer``."""
        return begin_consumer(self._options, name, **arguments)

    def consumers(self) -> pa.Table:
        """Return the consumers of the changes, with how far they are behind."""
        return list_consumers(table_reference(self._options))

    def drop_consumer(self, name: str) -> None:
        """Forget a consumer, so that expiry may take what only it held back."""
        forget_consumer(self._options, name)

    def write(
        self, data: Any, *, mode: str | None = None, options: Mapping[str, str] | None = None
    ) -> WriteReport:
        """Write rows; takes the arguments of ``arctic.write``."""
        given = {**self._options, **calls.mode_option(mode)}
        return write_data(data, calls.joined(given, options))

    def delete(self, where: Any = None, *, options: Mapping[str, str] | None = None) -> EditReport:
        """Delete the rows that a condition is true of, in one commit; without one, all rows.

        Args:
            where: a filter as ``read`` takes it, or any condition of SQL, which DuckDB evaluates.
            options: what follows the commit: ``optimize``, ``publish``, ``publish-every-commits``.
        """
        return after_edit.delete(self._options, where, options)

    def update(
        self,
        where: Any = None,
        set: Mapping[str, Any] | None = None,
        *,
        options: Mapping[str, str] | None = None,
    ) -> EditReport:
        """Set columns of the rows that a condition is true of, in one commit.

        Args:
            where: as ``delete`` takes it; None: all rows.
            set: column -> an expression of SQL over the row, such as ``"price * 2"`` or
                ``"'Rome'"``, or a number, truth value or None.
            options: as of ``delete``.
        """
        return after_edit.update(self._options, set or {}, where, options)

    def merge(
        self,
        source: Any,
        on: str | Sequence[str] | None = None,
        *,
        source_alias: str | None = None,
        target_alias: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Merge:
        """Begin a merge of rows into the table; ``execute()`` of the result carries it out.

        Args:
            source: rows, as ``write`` takes them; all of them are held in memory.
            on: the columns that must be equal, or a condition such as
                ``"target.id = source.user_id"``; None: the primary key.
            source_alias: the name of a row of the source in expressions; None: ``source``.
            target_alias: the name of a row of the table in them; None: ``target``.
            options: as of ``delete``.
        """
        asked = after_edit.asked_edit(self._options, options)
        aliases = merge_aliases(target=target_alias, source=source_alias)
        return Merge(asked, plain_table(batches_of(source).read_all()), on, aliases)

    def optimize(self, **arguments: Any) -> OptimizeReport:
        """Optimize in this process; takes the arguments of ``arctic.optimize`` but ``spark``."""
        return calls.run_optimize(self._options, **arguments)

    def status(self, **arguments: Any) -> TableStatus:
        """Say what is due; takes the arguments of ``arctic.status``."""
        return calls.status_of(self._options, **arguments)

    def explain(self, **arguments: Any) -> str:
        """Return the plan of a read; takes the arguments of ``arctic.explain``."""
        return calls.explain_read(self._options, **arguments)

    def expire(self, **arguments: Any) -> ExpireReport:
        """Delete what nobody needs any more; takes the arguments of ``arctic.expire``."""
        return calls.run_expire(self._options, **arguments)

    def clean_orphans(self, **arguments: Any) -> ExpireReport:
        """Delete files that nothing refers to; takes ``dry_run`` and ``options`` of ``expire``."""
        return calls.clean_orphans(self._options, **arguments)

    def publish(self, *, into: str | None = None, output: str | None = None) -> PublishReport:
        """Show the newest rows as a plain Iceberg table; see ``arctic.publish``."""
        return publish_table(table_reference(self._options), into, output)

    def unpublish(self, into: str | None = None) -> tuple[str, ...]:
        """Drop the published table, or all of them; see ``arctic.unpublish``."""
        return end_publishing(table_reference(self._options), into)

    def watermarks(self) -> dict[str, int]:
        """Return each writer's own watermark; see ``arctic.watermarks``."""
        return writer_watermarks(table_reference(self._options))

    def retire_writer(self, writer: str) -> dict[str, int]:
        """Let the watermark no longer wait for a writer; see ``arctic.retire_writer``."""
        return retire(table_reference(self._options), writer)

    def evolve_schema(self, **changes: Any) -> Table:
        """Change the columns; takes the arguments of ``arctic.evolve_schema``."""
        return self._become(evolve(self._options, **changes))

    def set_properties(self, properties: Mapping[str, str]) -> Table:
        """Set properties; takes the argument of ``arctic.set_properties``."""
        return self._become(with_properties(self._options, PropertyChange(wanted=properties)))

    def unset_properties(self, names: str | Sequence[str]) -> Table:
        """Remove properties; takes the argument of ``arctic.unset_properties``."""
        change = PropertyChange(removed=as_names(names))
        return self._become(with_properties(self._options, change))

    def rename(self, new_identifier: str) -> Table:
        """Rename the table; from then on this object stands for it under the new name."""
        return self._become(renamed(self._options, new_identifier))

    def refresh(self) -> Table:
        """Load the description again, with what others have changed since."""
        return self._become(Table(parse_reference(self._options).whole().open(), self._options))

    def history(self) -> pa.Table:
        """Return the commits of both stores: ``inspect("snapshots")``, oldest first."""
        order = ("committed_at", "store", "sequence_number")
        return self.inspect("snapshots").sort_by([(name, "ascending") for name in order])

    def inspect(self, name: str) -> pa.Table:
        """Return a metadata table.

        Args:
            name: ``snapshots``, ``files``, ``partitions``, ``nodes``, ``history`` or ``refs``.

        Raises:
            NotFoundError: any other name.
        """
        if name not in METADATA_TABLES:
            raise NotFoundError(
                f"metadata table {name!r}; expected one of {', '.join(METADATA_TABLES)}"
            )
        asked = AskedRead.of({**self._options, "path": f"{self.name}.{name}"})
        return begin_scan(asked).table()

    def _become(self, other: Table) -> Table:
        self._opened, self._options = other._opened, other._options
        return self


def evolve(
    options: Mapping[str, str],
    *,
    add: Mapping[str, pa.DataType | pa.Field] | None = None,
    rename: Mapping[str, str] | None = None,
    widen: Mapping[str, pa.DataType] | None = None,
    drop: str | Sequence[str] = (),
) -> Table:
    """Change the columns of a table, and return it as it is then."""
    reference = table_reference(options)
    change = SchemaChange(
        add=dict(add or {}), rename=dict(rename or {}), widen=dict(widen or {}), drop=as_names(drop)
    )
    return Table(evolve_schema(reference.config, reference.identifier, change), options)


def with_properties(options: Mapping[str, str], change: PropertyChange) -> Table:
    """Set and remove properties of a table, and return it as it is then."""
    reference = table_reference(options)
    return Table(set_properties(reference.config, reference.identifier, change), options)


def renamed(options: Mapping[str, str], new_identifier: str) -> Table:
    """Give a table another name, and return it under that."""
    reference = table_reference(options)
    opened = rename_named(reference.config, reference.identifier, new_identifier)
    return Table(opened, {**options, "path": opened.table.name})
