"""What a catalog of Spark asks Python of its namespaces; see ``catalog_questions``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Name = Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespacesQuestion:
    """Which namespaces are in one; in none: which are there at the top?"""

    catalog: Mapping[str, str]
    name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceQuestion:
    """What is a namespace?"""

    catalog: Mapping[str, str]
    name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateNamespaceQuestion:
    """Make a namespace."""

    catalog: Mapping[str, str]
    name: Name
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterNamespaceQuestion:
    """Change the properties of a namespace."""

    catalog: Mapping[str, str]
    name: Name
    changes: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DropNamespaceQuestion:
    """Remove a namespace."""

    catalog: Mapping[str, str]
    name: Name
    cascade: bool
