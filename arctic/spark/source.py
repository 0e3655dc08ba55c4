"""The data source ``arctic``, as Spark's Python workers use it.

Each method runs in a worker beside the driver, without a session: the table is opened there, and
plain values go back. Filters and columns of a query do not come through PySpark's own
``pushFilters``, which gives one query the rows of another's filter (see ``table_v2``).

Rules:
    - Spark starts a Python for each kind of question, which then imports this module anew: what one
      kind alone needs is imported by its method.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from arctic.errors import InvalidInputError
from arctic.job.changes.asked_changes import AskedChanges, asks_for_changes
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.scan_job import table_schema
from arctic.options import OPTIONS, STREAMING, Scope
from arctic.spark.base.error_surface import message_first
from arctic.spark.base.protocol import ScanQuestion, asked_of_worker
from arctic.spark.base.spark_types import spark_schema

if TYPE_CHECKING:
    from arctic.spark.read.reader import ArcticReader

FORMAT = "arctic"
NO_ENTRIES = (
    "an entry of Spark's own catalog is no Arctic table, so name it in the catalog arctic, as in "
    "CREATE TABLE arctic.namespace.table (id BIGINT, PRIMARY KEY (id)) and "
    "saveAsTable('arctic.namespace.table'), make and write it with df.write.format('arctic')"
    ".option('primaryKey', '...').mode('upsert').save('namespace.table') or with "
    "arctic.create_table(...), or name it with CREATE TEMPORARY VIEW ... USING arctic "
    "OPTIONS (path 'namespace.table'), and DROP TABLE an entry that is there"
)
"""What whoever makes or uses one is told."""
READS = (Scope.READ, Scope.CHANGES, Scope.STREAM)
"""What a relation may be asked for in this direction; which of it, its options say."""


class ArcticDataSource(DataSource):
    """Reads and writes Arctic tables."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format(...)`` and ``USING``."""
        return FORMAT

    @message_first
    def schema(self) -> StructType:
        """Return the columns that ``load()`` yields."""
        options = self._options_of(*READS)
        if STREAMING.value(options) or asks_for_changes(options):
            from arctic.job.changes.change_scan import change_schema  # noqa: PLC0415 - late: see the rules

            scope = Scope.STREAM if STREAMING.value(options) else Scope.CHANGES
            return spark_schema(change_schema(AskedChanges.of(options, scope)))
        return spark_schema(table_schema(AskedRead.of(options)))

    @message_first
    def reader(self, schema: StructType) -> DataSourceReader:
        """Plan a batch read."""
        _refuse_entry(self.options)
        return plan_batch(self.options, schema, asked_of_worker(schema))

    @message_first
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Begin a stream of changes."""
        from arctic.spark.stream.stream_source import ArcticStreamReader  # noqa: PLC0415 - likewise

        return ArcticStreamReader(self._options_of(*READS), schema)

    @message_first
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Begin a batch write."""
        from arctic.spark.write.spark_writer import begin_writer  # noqa: PLC0415 - likewise

        return begin_writer(self._options_of(Scope.WRITE), schema, overwrite=overwrite)

    @message_first
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Begin to write a batch of a stream, or to commit it."""
        from arctic.spark.stream.unregistered_sink import begin_stream_writer  # noqa: PLC0415 - likewise

        return begin_stream_writer(self._options_of(Scope.WRITE), schema, overwrite=overwrite)

    def _options_of(self, *scopes: Scope) -> dict[str, str]:
        _refuse_entry(self.options)
        return relevant_options(self.options, *scopes)


def _refuse_entry(options: Mapping[str, str]) -> None:
    """Refuse an entry of Spark's own catalog, which names no table of ours.

    Spark asks for the columns of one with its properties as options, and for its rows with none.
    """
    names = {name.lower() for name, value in options.items() if value}
    if "owner" in names or "path" not in names:
        raise InvalidInputError(NO_ENTRIES)


def plan_batch(
    options: Mapping[str, str], requested: StructType, question: ScanQuestion | None
) -> ArcticReader:
    """Plan what a relation with these options means in a batch: rows, or changes of them."""
    given = relevant_options(options, *READS)
    if asks_for_changes(given):
        from arctic.spark.stream.stream_source import plan_change_reader  # noqa: PLC0415 - likewise

        return plan_change_reader(AskedChanges.of(given), requested, question)
    from arctic.spark.read.reader import plan_reader  # noqa: PLC0415 - likewise

    query = None if question is None else question.query
    return plan_reader(AskedRead.of(given, query=query), requested, question)


def relevant_options(options: Mapping[str, str], *scopes: Scope) -> dict[str, str]:
    """Return the options of a relation that matter in one direction, names in lower case.

    A view is read and inserted into with the same OPTIONS, so those of the other direction are
    left out. What neither knows stays, and is refused where the options are checked.
    """
    given = {name.lower(): value for name, value in options.items()}
    for option in OPTIONS:
        if not option.scopes & {*scopes, Scope.CATALOG}:
            for name in option.names:
                given.pop(name.lower(), None)
    return given
