"""Which state of a table a call means: the newest, or one of the past; and moments as options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from numbers import Integral
from typing import Any

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.iceberg.snapshots.pin import pin
from arctic.iceberg.tables.open_table import OpenTable
from arctic.options import Option
from arctic.table.snapshot import TableSnapshot

Moment = int | datetime | str
"""A snapshot id, or a time with a zone, in ISO 8601 if it is a text."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastState:
    """Which state is meant: at most one of these is given, and none means the newest."""

    version: str | None = None
    snapshot_id: int | None = None
    as_of_ms: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> PastState:
        """Read the options that name a state."""
        return cls(
            version=opt.VERSION.value(options),
            snapshot_id=opt.SNAPSHOT_ID.value(options),
            as_of_ms=opt.AS_OF_TIMESTAMP.value(options),
        )

    def pinned(self, opened: OpenTable) -> TableSnapshot:
        """Return the state; raises as ``pin``."""
        return pin(
            opened,
            version=self.version,
            snapshot_id=self.snapshot_id,
            as_of_ms=self.as_of_ms,
        )


def moment_options(
    name: str, moment: Moment | None, snapshot: Option[Any], timestamp: Option[Any]
) -> dict[str, str]:
    """Return the option that says the same as a moment; none for None.

    Args:
        name: of the argument, for messages.
        moment: what was given for it.
        snapshot: the option for the id of a snapshot.
        timestamp: the option for a time.

    Raises:
        InvalidInputError: a time without a zone, or another thing.
    """
    if moment is None:
        return {}
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return {timestamp.name: str((moment - _EPOCH) // timedelta(milliseconds=1))}
    if isinstance(moment, str) and not moment.strip().lstrip("-").isdigit():
        timestamp.value({timestamp.name: moment})
        return {timestamp.name: moment}
    if is_whole(moment):
        return {snapshot.name: str(moment)}
    raise InvalidInputError(
        f"{name} = {moment!r}: expected the id of a snapshot as a number, or a time with a zone, "
        "as a datetime or a text such as '2024-02-29T12:00:00Z'"
    )


def is_whole(value: Any) -> bool:
    """Say whether a value is a whole number, NumPy's too, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)
