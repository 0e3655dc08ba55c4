"""Options of a relation with possible secrets under names that Spark does not print.

Spark prints the options of a relation in plans, in its event log and on its page, without those
whose names it takes for a secret's.
"""

from __future__ import annotations

from collections.abc import Mapping

from arctic.options import CATALOG_PREFIX, SEALED_PREFIX
from arctic.redact import may_hold_secret


def sealed(options: Mapping[str, str]) -> dict[str, str]:
    """Return options with possible secrets under names that Spark does not print.

    >>> sealed({"path": "ns.t", "catalog.header.x-auth": "abc"})
    {'path': 'ns.t', 'catalog.secret.header.x-auth': 'abc'}
    """
    return {sealed_name(name, value): value for name, value in options.items()}


def sealed_names(options: Mapping[str, str]) -> list[str]:
    """Return the names of options that Spark would print although they may hold a secret."""
    return [name for name, value in options.items() if sealed_name(name, value) != name]


def sealed_name(name: str, value: str) -> str:
    """Return the name under which an option goes to Spark."""
    lower = name.lower()
    if lower.startswith(SEALED_PREFIX) or not lower.startswith(CATALOG_PREFIX):
        return name
    property_name = lower[len(CATALOG_PREFIX) :]
    return f"{SEALED_PREFIX}{property_name}" if may_hold_secret(property_name, value) else name
