"""Which columns of a table have bloom filters in its files, and how sure they are.

Rules:
    - Arctic's property names columns; Iceberg's says it of one column, and how many values that are
      not there may pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from arctic.errors import InvalidInputError
from arctic.options.table_options import INDEX_COLUMNS

_ENABLED = "write.parquet.bloom-filter-enabled.column."
_SHARE = "write.parquet.bloom-filter-fpp.column."
_DEFAULT_SHARE = 0.01
"""As Iceberg's."""


def indexed_columns(properties: Mapping[str, str]) -> dict[str, float]:
    """Return column -> the share of values that are not there and pass.

    Raises:
        InvalidInputError: a share that is none.
    """
    names = list(INDEX_COLUMNS.value({}, properties) or ())
    for key, text in properties.items():
        if key.startswith(_ENABLED):
            name = key.removeprefix(_ENABLED)
            if text.lower() == "true":
                names.append(name)
            elif name in names:
                names.remove(name)
    return {name: _share(name, properties) for name in dict.fromkeys(names)}


def sought_columns(key: Iterable[str], properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns of a key that nobody wants to have no filter."""
    return tuple(name for name in key if properties.get(f"{_ENABLED}{name}", "").lower() != "false")


def check_shares(properties: Mapping[str, str]) -> None:
    """Refuse shares that are none, of whichever column.

    Raises:
        InvalidInputError: naming the property.
    """
    for key in properties:
        if key.startswith(_SHARE):
            _share(key.removeprefix(_SHARE), properties)


def _share(name: str, properties: Mapping[str, str]) -> float:
    text = properties.get(f"{_SHARE}{name}")
    if text is None:
        return _DEFAULT_SHARE
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0.0 < share < 1.0:
        raise InvalidInputError(
            f"table property {_SHARE}{name} = {text!r}: expected a number between 0 and 1"
        )
    return share
