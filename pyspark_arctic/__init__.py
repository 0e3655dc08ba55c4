"""Where Spark finds the format ``arctic`` by itself, without a call of ``register``.

Every first use of any Python data source in a session imports this module, so it imports nothing
but PySpark's own class: what is needed is imported when a table of ours is named.
"""

from __future__ import annotations

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType


class DefaultSource(DataSource):
    """The data source ``arctic``."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format(...)`` and ``USING``."""
        return "arctic"

    def schema(self) -> StructType | str:
        """Return the columns that ``load()`` yields."""
        return self._source().schema()

    def reader(self, schema: StructType) -> DataSourceReader:
        """Plan a batch read."""
        return self._source().reader(schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Begin a stream of changes."""
        return self._source().streamReader(schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Begin a batch write."""
        return self._source().writer(schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Begin to write a batch of a stream, or to commit it."""
        return self._source().streamWriter(schema, overwrite)

    def _source(self) -> DataSource:
        # Late, because it brings PyIceberg and Arrow along: half a second of every session that
        # uses some other Python data source.
        from arctic.spark.source import ArcticDataSource  # noqa: PLC0415

        return ArcticDataSource(self.options)
