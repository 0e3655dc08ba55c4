"""What a view's table remembers: what it is of, and where its sources stood at the last refresh.

Rules:
    - The definition is a property of base. How far the sources are is set in the very commit that
      brings the rows, under a number of its own, so a refresh counts once or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from arctic.errors import FormatError, InvalidInputError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.property_names import STREAM_POSITION_PREFIX, STREAM_PREFIX, VIEW
from arctic.table.streams.stream_batch import StreamBatch
from arctic.table.streams.stream_position import StreamPosition

_VERSION = 1
_WRITER = "view"
"""What a refresh calls itself as a writer of batches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewDefinition:
    """What a view is of."""

    sql: str
    is_whole: bool
    """Every refresh computes all rows anew."""
    sources: tuple[str, ...]
    """The tables that it reads, by name."""

    @property
    def properties(self) -> dict[str, str]:
        """As the table keeps it."""
        told = {
            "version": _VERSION,
            "sql": self.sql,
            "full": self.is_whole,
            "sources": self.sources,
        }
        return {VIEW: json.dumps(told, separators=(",", ":"))}

    @classmethod
    def of(cls, opened: OpenTable) -> ViewDefinition:
        """Read it from a table.

        Raises:
            InvalidInputError: the table is no view.
            FormatError: what it says is not readable.
        """
        return cls.told(opened.base.properties, opened.table.name)

    @classmethod
    def told(cls, properties: Mapping[str, str], name: str) -> ViewDefinition:
        """Read it from the properties of a table's base; raises as ``of``."""
        text = properties.get(VIEW)
        if text is None:
            raise InvalidInputError(f"table {name!r} is no view; arctic.materialize makes one")
        try:
            told = json.loads(text)
            if told["version"] != _VERSION:
                raise ValueError(f"version {told['version']}")
            return cls(
                sql=str(told["sql"]),
                is_whole=bool(told["full"]),
                sources=tuple(map(str, told["sources"])),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(
                f"table {name!r}: property {VIEW} = {text!r}: expected a view of "
                f"version {_VERSION}; a newer Arctic may read it"
            ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where the sources of a view stood at its last refresh."""

    number: int
    """Of the refresh; -1: there was none."""
    positions: Mapping[str, StreamPosition]
    """By the name of the source."""

    @classmethod
    def of(cls, opened: OpenTable) -> Standing:
        """Read it from a view's table.

        Raises:
            FormatError: it is not readable.
        """
        # Rows and positions of a keyed table arrive in one store, and nowhere else.
        properties = (opened.change or opened.base).properties
        text = properties.get(f"{STREAM_POSITION_PREFIX}{_WRITER}")
        if text is None:
            return cls(number=-1, positions={})
        try:
            number = int(properties[f"{STREAM_PREFIX}{_WRITER}"])
            positions = {
                name: StreamPosition.from_json(each) for name, each in json.loads(text).items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FormatError(
                f"table {opened.table.name!r}: {STREAM_POSITION_PREFIX}{_WRITER} = {text!r}: "
                "expected where the sources of the view stand; drop the view and make it anew"
            ) from error
        return cls(number=number, positions=positions)

    def next(self, positions: Mapping[str, StreamPosition]) -> StreamBatch:
        """Return the standing that the next refresh commits with its rows."""
        told = {name: each.to_json() for name, each in positions.items()}
        return StreamBatch(
            query_id=_WRITER,
            batch_id=self.number + 1,
            position=json.dumps(told, separators=(",", ":")),
            moves=True,
        )


def consumer_of(view: str) -> str:
    """Return the name under which a view is a consumer of its sources.

    >>> consumer_of("shop.totals")
    'view:shop.totals'
    """
    return f"view:{view}"
