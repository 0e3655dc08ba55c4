"""Tables that had no key when this process saw them last, so no change store is looked for first.

Rules:
    - It is a guess that saves one question to the catalog. Base says what the table is, each time;
      where it has a key after all, its change store is loaded, and base once more.
"""

from __future__ import annotations

from arctic.iceberg.catalogs.catalog import CatalogConfig

_MOST = 10_000
_Name = tuple[str | None, ...]

_names: set[_Name] = set()


def was_keyless(config: CatalogConfig, parts: tuple[str, ...]) -> bool:
    """Say whether a table had no key when it was opened last."""
    return _name(config, parts) in _names


def note_key(config: CatalogConfig, parts: tuple[str, ...], *, is_keyed: bool) -> None:
    """Remember whether a table that was opened has a key."""
    if is_keyed:
        _names.discard(_name(config, parts))
        return
    if len(_names) >= _MOST:
        _names.clear()
    _names.add(_name(config, parts))


def _name(config: CatalogConfig, parts: tuple[str, ...]) -> _Name:
    return (config.name, config.warehouse, config.properties.get("uri"), *parts)
