"""What a mirrored table remembers of its source, as one property of its base store.

It changes in the very commit that changes the columns, so both always agree.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from arctic.errors import FormatError
from arctic.table.property_names import MIRROR_SOURCE


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorColumn:
    """A column of the table and the one it mirrors."""

    position: int
    """The source's number."""
    name: str
    """In the table, and in the source when the table was last brought in step."""
    type: str
    """In the source, then."""
    absent_up_to: int
    """Rows up to here of the log that do not mention it have null, as it was added without a
    default; -1: none do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorState:
    """The source of a table, as of when the table was last brought in step with it."""

    system: str
    """Tells the database from every other one."""
    writer: str
    """Names the batches; another one for each slot, so that places of one log only are compared."""
    table: str
    """``schema.table``."""
    columns: tuple[MirrorColumn, ...]
    oid: int
    """Of the source; another one means another table of the same name."""
    filenode: int
    """Of the source; another one means that it was rewritten, of which no log speaks."""
    named: int = -1
    """Of the source; another one means that it had another name for a while, or that another table
    had its own: under that name the log has been followed."""
    is_complete: bool = False
    """Whether the first copy has been made."""
    copy_after: int | None = None
    """All rows are to be copied again once the log is followed up to here; None: they are not."""
    copy_replaces: bool = False
    """Whether that copy takes the place of all rows: of a table that is gone no log has deletes."""
    copied: int = -1
    """All rows were copied again as of here, which may be ahead of what was followed; -1: they were
    not, or the log does not say."""
    place: int = -1
    """Everything up to here of the log is in the table, whatever its batches say; -1: they do."""
    log: str = ""
    """Tells the piece of the log with that place from another one of the same name."""
    beside: tuple[str, ...] = ()
    """Names of all tables whose batches the writer names, this one too, where the source remembers
    one place for all of them; none where each table has its own."""
    noted: int = -1
    """Everything up to here of the log is in all tables of the writer; -1: their batches say."""

    def beyond(self, place: int) -> MirrorState:
        """Return the state with everything up to ``place`` of the log in the table.

        What told the piece of the log with the old place is forgotten: it may be another piece.
        """
        return replace(self, place=place, log="") if place > self.place else self

    def property(self) -> dict[str, str]:
        """Return it as a table property."""
        return {MIRROR_SOURCE: json.dumps(asdict(self))}

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> MirrorState | None:
        """Read it; None: the table mirrors nothing.

        Raises:
            FormatError: the property cannot be read.
        """
        text = properties.get(MIRROR_SOURCE)
        if text is None:
            return None
        try:
            fields = json.loads(text)
            fields["columns"] = tuple(_column(column) for column in fields["columns"])
            fields["beside"] = tuple(fields.get("beside", ()))
            return cls(**fields)
        except (ValueError, TypeError, KeyError) as error:
            raise FormatError(
                f"table property {MIRROR_SOURCE} = {text[:200]!r} is not what a mirror writes; "
                "drop the table, and it is copied anew"
            ) from error


def _column(fields: Mapping[str, Any]) -> MirrorColumn:
    """Read a column; what once said that it is null in rows of any place says so of none."""
    known = {name: value for name, value in fields.items() if name != "absent_is_null"}
    return MirrorColumn(**{"absent_up_to": -1, **known})
