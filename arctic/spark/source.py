"""The data source ``arctic``, as Spark's Python workers use it.

Each method runs in a worker beside the driver, without a session: the table is opened there, and
plain values go back. Filters and columns of a query do not come through PySpark's own
``pushFilters``, which gives one query the rows of another's filter (see ``table_v2``).
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from arctic.job.scan_job import table_schema
from arctic.options import OPTIONS, Scope
from arctic.spark.error_surface import message_first
from arctic.spark.reader import plan_reader
from arctic.spark.stream_writer import begin_stream_writer
from arctic.spark.types import spark_schema
from arctic.spark.writer import begin_writer

FORMAT = "arctic"


class ArcticDataSource(DataSource):
    """Reads and writes Arctic tables."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format(...)`` and ``USING``."""
        return FORMAT

    @message_first
    def schema(self) -> StructType:
        """Return the columns that ``load()`` yields."""
        return spark_schema(table_schema(self._options_of(Scope.READ)))

    @message_first
    def reader(self, schema: StructType) -> DataSourceReader:
        """Plan a batch read."""
        return plan_reader(self._options_of(Scope.READ), schema)

    @message_first
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Begin a batch write."""
        return begin_writer(self._options_of(Scope.WRITE), schema, overwrite=overwrite)

    @message_first
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Begin to write a batch of a stream, or to commit it."""
        return begin_stream_writer(self._options_of(Scope.WRITE), schema, overwrite=overwrite)

    def _options_of(self, scope: Scope) -> dict[str, str]:
        return relevant_options(self.options, scope)


def relevant_options(options: Mapping[str, str], scope: Scope) -> dict[str, str]:
    """Return the options of a relation that matter in one direction, names in lower case.

    A view is read and inserted into with the same OPTIONS, so those of the other direction are
    left out. What neither knows stays, and is refused where the options are checked.
    """
    given = {name.lower(): value for name, value in options.items()}
    for option in OPTIONS:
        if not option.scopes & {scope, Scope.CATALOG}:
            for name in option.names:
                given.pop(name.lower(), None)
    return given
