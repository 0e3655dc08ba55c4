"""What a caller's options ask of a read, before its table is open.

What is in force for one table, its properties included, is ``ReadSettings``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arctic import options as opt
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.past_state import PastState
from arctic.job.read.read_settings import ReadSettings
from arctic.job.reference import TableReference, parse_reference
from arctic.options import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRead:
    """Which rows of which table, and how they are read."""

    reference: TableReference
    columns: tuple[str, ...] | None
    """In this order; None: all."""
    store: str
    """``merged``, ``base`` or ``change``."""
    state: PastState
    given: Mapping[str, str] = field(repr=False)
    """All that the call gave, for what a property of the table may say as well."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> AskedRead:
        """Read ``path``, catalog and read options.

        Raises:
            InvalidInputError: an unknown option, a bad value, or no table.
        """
        opt.check_known(options, Scope.READ)
        return cls(
            reference=parse_reference(options),
            columns=opt.COLUMNS.value(options),
            store=opt.STORE.value(options),
            state=PastState.of(options),
            given=dict(options),
        )

    def settings(self, opened: OpenTable, *, parallelism: int | None = None) -> ReadSettings:
        """Return the settings in force for a table; raises as ``ReadSettings.of``."""
        return ReadSettings.of(self.given, opened.table.properties, parallelism=parallelism)
