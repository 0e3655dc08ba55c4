"""Consumers of a table: named places in its changes, up to which somebody has taken them.

Rules:
    - A consumer is one property of base, with the place and the snapshots of the state there. What
      is newer in either store stays as well, as expiry cuts a lineage at one end.
    - One that has not moved for longer than the table's limit holds nothing back. It stays known,
      so that a reader that comes late is told, and nothing begins anew unseen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyiceberg.table import Table

from arctic.errors import (
    ArcticError,
    FormatError,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)
from arctic.iceberg.metadata.history import lineage
from arctic.iceberg.snapshots.change_log import stream_store
from arctic.iceberg.snapshots.state_between import state_between
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.property_names import CONSUMER_PREFIX
from arctic.table.streams.stream_position import StreamPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerState:
    """Where a consumer stands."""

    position: StreamPosition
    """What is up to it is done."""
    moved_ms: int
    """When it was put there: milliseconds since 1970-01-01 UTC."""
    base_snapshot_id: int | None
    """Of the state at its position; None: the store had no snapshot then."""
    change_snapshot_id: int | None

    @property
    def text(self) -> str:
        """As a property says it."""
        return json.dumps(
            {
                "position": self.position.to_json(),
                "moved": self.moved_ms,
                "base": self.base_snapshot_id,
                "change": self.change_snapshot_id,
            },
            separators=(",", ":"),
        )

    @classmethod
    def parsed(cls, name: str, text: str) -> ConsumerState:
        """Read a property.

        Raises:
            FormatError: it says no place.
        """
        try:
            said = json.loads(text)
            return cls(
                position=StreamPosition.from_json(said["position"]),
                moved_ms=int(said["moved"]),
                base_snapshot_id=None if said["base"] is None else int(said["base"]),
                change_snapshot_id=None if said["change"] is None else int(said["change"]),
            )
        except (ValueError, KeyError, TypeError, ArcticError) as error:
            raise FormatError(
                f"table property {CONSUMER_PREFIX}{name} = {text!r}: expected the place of a "
                "consumer; drop it and begin it anew"
            ) from error


def consumers_of(properties: Mapping[str, str]) -> dict[str, ConsumerState]:
    """Return the consumers of a table by name, from the properties of its base store.

    Raises:
        FormatError: one says no place.
    """
    return {
        name: ConsumerState.parsed(name, properties[f"{CONSUMER_PREFIX}{name}"])
        for name in consumer_names(properties)
    }


def consumer_names(properties: Mapping[str, str]) -> list[str]:
    """Return the names of the consumers of a table, sorted."""
    names = (name for name in properties if name.startswith(CONSUMER_PREFIX))
    return sorted(name.removeprefix(CONSUMER_PREFIX) for name in names)


def consumer_at(opened: OpenTable, position: StreamPosition, *, now_ms: int) -> ConsumerState:
    """Return what is to be said of a consumer at a place.

    Raises:
        NotFoundError: the state there has expired.
    """
    if position.pin is not None:
        ids = position.pin.base_snapshot_id, position.pin.change_snapshot_id
    elif opened.table.is_keyed:
        changes, bases = position.sequence_number, position.base_sequence_number
        try:
            ids = state_between(opened, changes, bases)
        except UnsupportedError:
            # Who passes over replaced rows may stand between two states, and needs none of them.
            ids = _snapshot_at(opened.base, bases), _snapshot_at(stream_store(opened), changes)
    else:
        ids = _snapshot_at(opened.base, position.sequence_number), None
    return ConsumerState(
        position=position, moved_ms=now_ms, base_snapshot_id=ids[0], change_snapshot_id=ids[1]
    )


def held_snapshots(
    store: Table | None, consumers: Iterable[ConsumerState], *, is_base: bool
) -> frozenset[int]:
    """Return the snapshots of a store down to which it has to stay for the sake of consumers.

    Args:
        store: of the table; None: it has none of this kind.
        consumers: those that hold something back.
        is_base: whether it is the base store.
    """
    if store is None:
        return frozenset()
    ids = [each.base_snapshot_id if is_base else each.change_snapshot_id for each in consumers]
    found = {each for each in ids if each is not None}
    if None in ids:  # it stands before the first commit
        found.update(each.snapshot_id for each in lineage(store.metadata, store.current_snapshot()))
    return frozenset(found)


def check_consumer_name(name: str) -> str:
    """Refuse a name that no property can have.

    Raises:
        InvalidInputError: naming it.
    """
    if not name.strip() or name != name.strip():
        raise InvalidInputError(f"consumer {name!r}: expected a text without blanks around it")
    return name


def _snapshot_at(store: Table, sequence_number: int) -> int | None:
    for snapshot in lineage(store.metadata, store.current_snapshot()):
        if (snapshot.sequence_number or 0) == sequence_number:
            return snapshot.snapshot_id
    if not sequence_number:
        return None
    raise NotFoundError(
        f"commit {sequence_number} of store {'.'.join(store.name())!r} has expired, so no consumer "
        "can stand there"
    )
