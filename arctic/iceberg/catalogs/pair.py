"""The properties that tie two Iceberg tables together, and how they are recognised.

Source: amoro TablePropertyUtil, MixedTables @96a4d781a. Differs: the change store also names the
UUID of its base store, so that a leftover of an earlier table is never taken for the new one's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from pyiceberg.table import Table

from arctic.errors import FormatError
from arctic.iceberg.values.names import CHANGE_SUFFIX
from arctic.options import BASE_BUCKETS, CHANGE_BUCKETS
from arctic.table.property_names import (
    BASE_UUID,
    CHANGE_IDENTIFIER,
    CREATED,
    NAMES_BASE,
    PRIMARY_KEY,
    STORE,
    TABLE_FORMAT,
    is_own,
)
from arctic.tree.node import bucket_mask

_MIXED_ICEBERG = "MIXED_ICEBERG"
DEFAULT_PROPERTIES = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    # Many writers commit at once: a short first wait and many tries lose none of them.
    "commit.retry.num-retries": "50",
    "commit.retry.min-wait-ms": "20",
    "commit.retry.max-wait-ms": "1000",
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "20",
    # Under serializable isolation any concurrent append would fail a compaction.
    "write.delete.isolation-level": "snapshot",
    # Keeps Flink from committing empty snapshots.
    "flink.max-continuous-empty-commits": "2147483647",
}
"""What a table gets where its user says nothing of it."""


def store_of(properties: Mapping[str, str]) -> str | None:
    """Return ``base`` or ``change``; None for a table of another format."""
    if properties.get(TABLE_FORMAT, "").upper() != _MIXED_ICEBERG:
        return None
    store = properties.get(STORE, "").lower()
    return store if store in ("base", "change") else None


def created_ms(properties: Mapping[str, str]) -> int | None:
    """Return when a store was made, in milliseconds since 1970-01-01 UTC; None: it does not say."""
    text = properties.get(CREATED, "")
    return int(text) if text.isdecimal() else None


def primary_key_of(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the key columns in key order; empty when the table has none.

    Names are not stripped: the format looks ``' name'`` up with its blank.
    """
    names = properties.get(PRIMARY_KEY, "").split(",")
    return tuple(name for name in names if name.strip())


def change_identifier_of(properties: Mapping[str, str], *, table_name: str) -> tuple[str, ...]:
    """Return where the change store of a keyed base store is.

    Raises:
        FormatError: the property is missing.
    """
    text = properties.get(CHANGE_IDENTIFIER, "")
    if not text:
        raise FormatError(
            f"table {table_name!r} has a primary key but no property {CHANGE_IDENTIFIER!r}, so its "
            "change store cannot be found"
        )
    return tuple(text.split("."))


def base_properties(
    user: Mapping[str, str], primary_key: tuple[str, ...], change: tuple[str, ...]
) -> dict[str, str]:
    """Return the properties of a new base store; ``change`` is ignored without a key."""
    properties = {**DEFAULT_PROPERTIES, **user, **_pair_properties("base", primary_key)}
    if primary_key:
        properties |= {CHANGE_IDENTIFIER: ".".join(change), NAMES_BASE: "true"}
    return properties


def change_properties(base: Table, properties: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the properties of the change store that belongs to a base store.

    Args:
        base: the base store.
        properties: those that it is about to get; None: it has them.
    """
    given = base.properties if properties is None else properties
    shared = {key: text for key, text in given.items() if not is_own(key)}
    return {
        **shared,
        **_pair_properties("change", primary_key_of(given)),
        BASE_UUID: str(base.metadata.table_uuid),
    }


def belongs_to(change: Table, base: Table) -> bool:
    """Say whether a change store is the one of this base store, as far as the two tell.

    Pairs that Amoro made name each other by identifier only.
    """
    if store_of(change.properties) != "change":
        return False
    if base.properties.get(NAMES_BASE) != "true":
        return True
    return change.properties.get(BASE_UUID) == str(base.metadata.table_uuid)


def base_name_of(change: tuple[str, ...]) -> str:
    """Return the name of the base store that usually goes with a change store's name."""
    return ".".join((*change[:-1], change[-1].removesuffix(CHANGE_SUFFIX)))


def check_buckets(properties: Mapping[str, str]) -> None:
    """Refuse bucket counts that would misplace rows.

    Raises:
        InvalidInputError: a count that is no power of two.
    """
    for option in (BASE_BUCKETS, CHANGE_BUCKETS):
        bucket_mask(option.value({}, properties), subject=f"table property {option.name}")


def _pair_properties(store: str, primary_key: tuple[str, ...]) -> dict[str, str]:
    properties = {
        TABLE_FORMAT: _MIXED_ICEBERG,
        STORE: store,
        CREATED: str(time.time_ns() // 1_000_000),
        "format-version": "2",
    }
    if primary_key:
        properties[PRIMARY_KEY] = ",".join(primary_key)
    return properties
