"""What a view's table says of it in a property of base: its statement, and how it is kept.

Must not know: tables, rows, SQL.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from arctic.errors import FormatError, InvalidInputError
from arctic.table.property_names import VIEW

_VERSION, _WITH_KIND = 1, 2
"""Those that know no kinds refuse the second."""
ROWS, HISTORY, DAYS = "rows", "scd2", "daily"
KINDS = (ROWS, HISTORY, DAYS)
"""Which rows a view keeps: those that its statement returns; every version of each of them; those
that it returned at the end of each day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewDefinition:
    """What a view is of."""

    sql: str
    is_whole: bool
    """Every refresh computes all rows anew."""
    sources: tuple[str, ...]
    """The tables that it reads, by name."""
    kind: str = ROWS

    @property
    def properties(self) -> dict[str, str]:
        """As the table keeps it."""
        told: dict[str, object] = {
            "version": _VERSION if self.kind == ROWS else _WITH_KIND,
            "sql": self.sql,
            "full": self.is_whole,
            "sources": self.sources,
        }
        if self.kind != ROWS:
            told["kind"] = self.kind
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
            if told["version"] not in (_VERSION, _WITH_KIND):
                raise ValueError(f"version {told['version']}")
            kind = told["kind"] if told["version"] == _WITH_KIND else ROWS
            if kind not in KINDS:
                raise ValueError(f"kind {kind!r}")
            return cls(
                sql=str(told["sql"]),
                is_whole=bool(told["full"]),
                sources=tuple(map(str, told["sources"])),
                kind=kind,
            )
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(
                f"table {name!r}: property {VIEW} = {text!r}: expected a view of "
                f"version {_WITH_KIND}; a newer Arctic may read it"
            ) from error


def consumer_of(view: str) -> str:
    """Return the name under which a view is a consumer of its sources.

    >>> consumer_of("shop.totals")
    'view:shop.totals'
    """
    return f"view:{view}"
