"""What a view's table says of it in a property of base: its statement, and how it is kept.

Must not know: tables, rows, SQL.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from arctic.errors import FormatError, InvalidInputError
from arctic.table.property_names import VIEW

_VERSION = 1


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
    def told(cls, properties: Mapping[str, str], name: str) -> ViewDefinition:
        """Read it from the properties of a table's base.

        Raises:
            InvalidInputError: the table is no view.
            FormatError: what it says is not readable.
        """
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


def consumer_of(view: str) -> str:
    """Return the name under which a view is a consumer of its sources.

    >>> consumer_of("shop.totals")
    'view:shop.totals'
    """
    return f"view:{view}"
