"""Tags of a table: a name for a state of both stores, in both as a tag of Iceberg.

Rules:
    - A property of base says which two snapshots a tag names. It is set in the same commit as the
      tag of base, after that of the change store, so a tag that exists is whole.
    - Tags that other programs made are read as the snapshot that they name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.table.refs import MAIN_BRANCH

from arctic.errors import FormatError, InvalidInputError, NotFoundError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.table.property_names import TAG_PREFIX
from arctic.table.snapshot import TableSnapshot

_NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class TagState:
    """The two snapshots that a tag names."""

    base_snapshot_id: int | None
    change_snapshot_id: int | None

    @classmethod
    def of(cls, state: TableSnapshot) -> TagState:
        """Return the snapshots of a pinned state."""
        return cls(
            base_snapshot_id=state.base_snapshot_id, change_snapshot_id=state.change_snapshot_id
        )

    @property
    def text(self) -> str:
        """As a property says it."""
        ids = (self.base_snapshot_id, self.change_snapshot_id)
        return ",".join(_NONE if each is None else str(each) for each in ids)

    @classmethod
    def parsed(cls, name: str, text: str) -> TagState:
        """Read a property.

        Raises:
            FormatError: it does not name two snapshots.
        """
        try:
            base, change = (None if each == _NONE else int(each) for each in text.split(","))
        except ValueError:
            raise FormatError(
                f"table property {TAG_PREFIX}{name} = {text!r}: expected the ids of two snapshots"
            ) from None
        return cls(base_snapshot_id=base, change_snapshot_id=change)


def tags_of(properties: Mapping[str, str]) -> dict[str, TagState]:
    """Return the tags that Arctic made, from the properties of a base store.

    Raises:
        FormatError: one does not name two snapshots.
    """
    found = {
        name.removeprefix(TAG_PREFIX): text
        for name, text in properties.items()
        if name.startswith(TAG_PREFIX)
    }
    return {name: TagState.parsed(name, text) for name, text in sorted(found.items())}


def find_tag(opened: OpenTable, name: str) -> TagState | int | None:
    """Return what a tag or branch names; None: there is none of this name.

    Returns:
        Both snapshots; or one of either store, where another program made the tag.

    Raises:
        FormatError: a tag that does not name two snapshots.
        NotFoundError: half of a tag, as an interrupted call leaves it.
    """
    known = tags_of(opened.base.properties).get(name)
    if known is not None:
        return known
    in_base = opened.base.metadata.refs.get(name)
    if in_base is not None:
        return in_base.snapshot_id
    if opened.change is not None and name in opened.change.metadata.refs and name != MAIN_BRANCH:
        raise NotFoundError(
            f"table {opened.table.name!r}: tag {name!r} is only in the change store; whoever made "
            "or dropped it was interrupted, so make it again or drop it"
        )
    return None


def check_tag_name(name: str) -> str:
    """Refuse a name that could not be told from a version, or that no store takes.

    Raises:
        InvalidInputError: naming it.
    """
    if not name.strip() or name != name.strip():
        raise InvalidInputError(f"tag {name!r}: expected a text without blanks around it")
    if name == MAIN_BRANCH or name.lstrip("+-").isdigit():
        raise InvalidInputError(
            f"tag {name!r}: numbers are versions or snapshots and {MAIN_BRANCH!r} is the table; "
            "expected another name"
        )
    return name
