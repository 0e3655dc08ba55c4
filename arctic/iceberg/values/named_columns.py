"""Table properties that name columns: they follow a rename, and keep a column from being dropped.

Rules:
    - A property and the columns it names change in one commit: in between every write would be
      refused, because it names no column.
    - Only base's properties count; those of the change store are kept the same for others to read.
    - A property of one column, which has the column in its own name, goes with it, also when it is
      dropped: another column that takes the name later is not meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from arctic.errors import InvalidInputError
from arctic.iceberg.values.name_mapping import NAME_MAPPING
from arctic.options import (
    AGGREGATE_FUNCTIONS,
    DATA_EXPIRE_FIELD,
    EVENT_TIME_FIELD,
    INDEX_COLUMNS,
    INGEST_TIME,
    ORDERING_COLUMNS,
    SEQUENCE_GROUPS,
    SORT_COLUMNS,
    Option,
)
from arctic.options.sort_terms import sort_text

_OPTIONS: tuple[Option[Any], ...] = (
    AGGREGATE_FUNCTIONS,
    DATA_EXPIRE_FIELD,
    EVENT_TIME_FIELD,
    INDEX_COLUMNS,
    ORDERING_COLUMNS,
    SEQUENCE_GROUPS,
    SORT_COLUMNS,
)
METRICS_OF_COLUMN = "write.metadata.metrics.column."
OF_ONE_COLUMN = (
    METRICS_OF_COLUMN,
    "write.parquet.bloom-filter-enabled.column.",
    "write.parquet.bloom-filter-fpp.column.",
    "write.parquet.bloom-filter-ndv.column.",
    "write.parquet.stats-enabled.column.",
)
"""Iceberg's: what follows is the column."""
_LASTING = (AGGREGATE_FUNCTIONS, ORDERING_COLUMNS, SEQUENCE_GROUPS)


def check_named(properties: Mapping[str, str], columns: Iterable[str]) -> None:
    """Refuse properties that name a column which is not there.

    Raises:
        InvalidInputError: naming the property and the column.
    """
    there = list(columns)
    for option, key, named in _given(properties):
        for name in named:
            if name not in there:
                raise InvalidInputError(
                    f"table property {option.name} = {properties[key]!r}: there is no column "
                    f"{name!r}; expected one of {', '.join(there)}"
                )


def check_unnamed(subject: str, properties: Mapping[str, str], dropped: Iterable[str]) -> None:
    """Refuse to drop what a property names.

    Raises:
        InvalidInputError: naming the property and what to do with it first.
    """
    for name in dropped:
        for option, key, columns in _given(properties):
            if name in columns:
                remedy = "remove the property or name another column in it first"
                if option in _LASTING:
                    remedy = "the property stays, so copy the other columns to another table"
                raise InvalidInputError(
                    f"{subject}: property {option.name} = {properties[key]!r} names column "
                    f"{name!r}, so it cannot be dropped; {remedy}"
                )


def renamed(
    subject: str, properties: Mapping[str, str], rename: Mapping[str, str]
) -> dict[str, str]:
    """Return the properties that a rename changes, with their new texts.

    Args:
        subject: what messages begin with.
        properties: of the table, before the rename.
        rename: old name -> new name.

    Raises:
        InvalidInputError: a new name that a property cannot express.
    """
    changed = {}
    for option, key, columns in _given(properties):
        wanted = tuple(rename.get(name, name) for name in columns)
        if wanted == columns:
            continue
        if option in (AGGREGATE_FUNCTIONS, SEQUENCE_GROUPS):
            raise InvalidInputError(
                f"{subject}: property {option.name} = {properties[key]!r} names the column, so it "
                "cannot be renamed"
            )
        changed[key] = _renamed_text(option, properties[key], wanted)
        if _columns(option, changed[key]) != wanted:
            raise InvalidInputError(
                f"{subject}: property {option.name} = {properties[key]!r} cannot name the column "
                f"after its rename, {changed[key]!r} would mean something else; choose another name"
            )
    return changed


def moved(
    properties: Mapping[str, str], rename: Mapping[str, str], dropped: Iterable[str]
) -> tuple[dict[str, str], list[str]]:
    """Return the properties of one column that a change of columns sets, and those that it removes.

    Args:
        properties: of the table, before the change.
        rename: old name -> new name.
        dropped: columns.
    """
    wanted, gone = {}, []
    for key, prefix, path in _of_one_column(properties):
        name, dot, rest = path.partition(".")
        if name in rename:
            wanted[f"{prefix}{rename[name]}{dot}{rest}"] = properties[key]
        if name in rename or name in dropped:
            gone.append(key)
    return wanted, [key for key in gone if key not in wanted]


def followed(
    base: Mapping[str, str], change: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return what makes properties of the change store those of base: new texts, and what goes.

    Args:
        base: properties of the base store.
        change: properties of the change store.
    """
    texts = {option.name: base[key] for option, key, _ in _given(base)}
    named = {
        key: texts[option.name]
        for option, key, _ in _given(change)
        if option.name in texts and change[key] != texts[option.name]
    }
    of_one = {key: base[key] for key, *_ in _of_one_column(base) if change.get(key) != base[key]}
    gone = [key for key, *_ in _of_one_column(change) if key not in base]
    mapping = base.get(NAME_MAPPING)
    if mapping is not None and change.get(NAME_MAPPING, mapping) != mapping:
        named[NAME_MAPPING] = mapping
    return {**named, **of_one}, gone


def _of_one_column(properties: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield each property of one column: its name, and that in its two parts."""
    for key in properties:
        for prefix in OF_ONE_COLUMN:
            if key.startswith(prefix):
                yield key, prefix, key.removeprefix(prefix)


def _given(properties: Mapping[str, str]) -> Iterator[tuple[Option[Any], str, tuple[str, ...]]]:
    """Yield each property that names columns, as it is spelt, with the columns."""
    for key, text in properties.items():
        for option in _OPTIONS:
            if key.lower() in option.names:
                yield option, key, _columns(option, text)


def _renamed_text(option: Option[Any], text: str, wanted: tuple[str, ...]) -> str:
    if option is not SORT_COLUMNS:
        return ",".join(wanted)
    names = iter(wanted)
    terms = option.parse(text)
    return sort_text(replace(term, columns=tuple(next(names) for _ in term)) for term in terms)


def _columns(option: Option[Any], text: str) -> tuple[str, ...]:
    try:
        value = option.parse(text)
    except ValueError:
        return ()
    if option is AGGREGATE_FUNCTIONS:
        return tuple(name for name, _ in value)
    if option is SEQUENCE_GROUPS:
        return tuple(name for group in value for side in group for name in side)
    if option is SORT_COLUMNS:
        return tuple(name for term in value for name in term)
    if isinstance(value, tuple):
        return value
    return () if value == INGEST_TIME else (value,)
