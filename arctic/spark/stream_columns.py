"""``readStream.load()`` in our format asks for the columns that tell what each row does.

Spark asks a source for its columns without saying whether a stream or a batch is meant, and a
stream of rows that does not say which of them are deletes would be read wrongly.

Must not know: tables.
"""

from __future__ import annotations

import functools
from typing import Any

from arctic.options import STREAMING
from arctic.spark.source import FORMAT

_INSTALLED = "_arctic_stream_columns"
_SOURCE = "_arctic_source"


def install_stream_columns(reader_class: type) -> None:
    """Teach a DataStreamReader class, classic or Connect; again is harmless."""
    if _INSTALLED in vars(reader_class):
        return
    native_format, native_load = reader_class.format, reader_class.load  # type: ignore[attr-defined]

    @functools.wraps(native_format)
    def format(self: Any, source: Any) -> Any:
        self.__dict__[_SOURCE] = source
        return native_format(self, source)

    @functools.wraps(native_load)
    def load(
        self: Any, path: Any = None, format: Any = None, schema: Any = None, **options: Any
    ) -> Any:
        source = self.__dict__.get(_SOURCE) if format is None else format
        if isinstance(source, str) and source.lower() == FORMAT:
            self.option(STREAMING.name, "true")
        return native_load(self, path, format, schema, **options)

    for name, call in ((_INSTALLED, True), ("format", format), ("load", load)):
        setattr(reader_class, name, call)
