"""A condition of commits that make a table Arctic's or take it back: nobody else did so meanwhile.

Rules:
    - The snapshot of a store does not tell: upserts, publishing and adopting leave it alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import ValidatableTableRequirement

from arctic.table.property_names import is_own


def own_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that only Arctic sets."""
    return {name: text for name, text in properties.items() if is_own(name)}


def same_own_properties(catalog: Catalog, properties: Mapping[str, str]) -> tuple[Any, ...]:
    """Return the requirement that a store still has these of Arctic's properties, and no others.

    The protocol of REST catalogs cannot say this: there, look at them right before.
    """
    if isinstance(catalog, RestCatalog):
        return ()
    return (_OwnAsSeen(expected=own_properties(properties)),)


class _OwnAsSeen(ValidatableTableRequirement):
    type: str = "arctic-own-properties"
    expected: dict[str, str]

    def validate(  # type: ignore[override]  # PyIceberg's name hides one of pydantic
        self, base_metadata: TableMetadata | None
    ) -> None:
        """Refuse metadata with other properties of ours."""
        found = own_properties({} if base_metadata is None else base_metadata.properties)
        if found != self.expected:
            names = sorted(dict(found.items() ^ self.expected.items()))
            raise CommitFailedException(f"Requirement failed: properties {names} have changed")
