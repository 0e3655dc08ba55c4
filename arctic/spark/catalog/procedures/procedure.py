"""A procedure: its parameters, the columns that it returns, and one call of it.

Must not know: which procedures there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
from pyspark.sql import types as st

from arctic.api.table import Table
from arctic.job.reference import table_reference
from arctic.job.tasks.run_tasks import TaskRunner

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

TEXT, FLAG, WHOLE, TIME = st.StringType(), st.BooleanType(), st.LongType(), st.TimestampType()
NULL = "NULL"
TEXTS, PAIRS = st.ArrayType(TEXT), st.MapType(TEXT, TEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a procedure."""

    name: str
    kind: st.DataType
    doc: str
    default: str | None = NULL
    """As SQL; None: it must be given. Only where it is NULL the argument may be null."""
    names_table: bool = False
    """Whether it is the name of a table of the catalog, before which that may be said too."""


TABLE = Parameter(name="table", kind=TEXT, doc="namespace.table", default=None, names_table=True)
OPTIONS = Parameter(name="options", kind=PAIRS, doc="options by name, as map('name', 'value')")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a procedure."""

    options: Mapping[str, str]
    """What names the table."""
    arguments: Mapping[str, Any]
    runner: TaskRunner = field(repr=False)
    """Where the tasks of the session run."""

    @property
    def table(self) -> Table:
        """The table, opened."""
        return Table(table_reference(self.options).open(), self.options)

    def given(self, name: str) -> Any:
        """Return an argument; None: it was left out."""
        return self.arguments[name]

    def time(self, name: str) -> datetime | None:
        """Return an argument that is a time, which comes as microseconds."""
        microseconds = self.arguments[name]
        return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """What CALL knows by a name."""

    doc: str
    parameters: tuple[Parameter, ...]
    """In the order in which arguments without a name are taken."""
    columns: pa.Schema
    """Of the rows that it returns."""
    run: Callable[[Call], pa.Table | Iterable[Mapping[str, Any]]]
    changes: str | None = None
    """The column, or else the parameter, that names a table which has other rows afterwards; None:
    none has."""
