"""Which table properties a user may set, and to what.

Rules:
    - A name that means something is taken, and its value is read by the parser that reads it later.
    - What Arctic sets itself is refused.
    - What holds a secret by its name is refused: metadata is read by everybody who reads the table.
    - An unknown name is refused where it begins as one of ours, and where a known one is so near
      that it must have been meant. Any other name is the user's own.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.pair import check_buckets
from arctic.iceberg.values.name_mapping import NAME_MAPPING, mapped_ids
from arctic.iceberg.values.named_columns import METRICS_OF_COLUMN, OF_ONE_COLUMN
from arctic.options import OPTIONS, Option, Scope, nearest
from arctic.redact import names_a_secret
from arctic.table.property_names import OPTION_PREFIXES, is_own

_OPTIONS: Mapping[str, Option[Any]] = {
    name.lower(): option
    for option in OPTIONS
    if Scope.TABLE in option.scopes
    for name in option.names
}
_SPELLINGS = {name.lower(): name for option in _OPTIONS.values() for name in option.names}
_CALL_ONLY = {
    name.lower() for option in OPTIONS if Scope.TABLE not in option.scopes for name in option.names
}
_NUMBER = (re.compile(r"\d+"), "a whole number")
_TRUTH = (re.compile(r"true|false", re.IGNORECASE), "true or false")
_PARQUET = (re.compile(r"parquet", re.IGNORECASE), "parquet, the only format that is written")
_METRICS = (
    re.compile(r"none|counts|full|truncate\([1-9]\d*\)", re.IGNORECASE),
    "none, counts, full or truncate(16)",
)
_VALUES: Mapping[str, tuple[re.Pattern[str], str]] = {
    "base.write.format": _PARQUET,
    "change.write.format": _PARQUET,
    "commit.manifest-merge.enabled": _TRUTH,
    "commit.manifest.min-count-to-merge": _NUMBER,
    "commit.manifest.target-size-bytes": _NUMBER,
    "commit.retry.max-wait-ms": _NUMBER,
    "commit.retry.min-wait-ms": _NUMBER,
    "commit.retry.num-retries": _NUMBER,
    "commit.retry.total-timeout-ms": _NUMBER,
    "format-version": (re.compile("2"), "'2', which the format needs"),
    "write.avro.compression-codec": (
        re.compile(r"null|bzip2|snappy|zstandard|deflate|gzip|zstd"),
        "an Avro codec such as gzip",
    ),
    "write.delete.format.default": _PARQUET,
    "write.format.default": _PARQUET,
    "write.metadata.compression-codec": (re.compile("none|gzip", re.IGNORECASE), "none or gzip"),
    "write.metadata.delete-after-commit.enabled": _TRUTH,
    "write.metadata.metrics.default": _METRICS,
    "write.metadata.previous-versions-max": _NUMBER,
    "write.summary.partition-limit": _NUMBER,
}
"""Properties of others that a commit reads, or that would promise what is not done."""

_ICEBERG = frozenset(
    f"{prefix}{name}"
    for prefix, names in {
        "commit.": (
            "status-check.max-wait-ms status-check.min-wait-ms status-check.num-retries "
            "status-check.total-timeout-ms"
        ),
        "compatibility.": "snapshot-id-inheritance.enabled",
        "encryption.": "data-key-length key-id",
        "engine.hive.": "enabled lock-enabled",
        "flink.": "max-continuous-empty-commits",
        "history.expire.": "max-ref-age-ms max-snapshot-age-ms min-snapshots-to-keep",
        "read.": (
            "data-planning-mode delete-planning-mode orc.vectorization.batch-size "
            "orc.vectorization.enabled parquet.vectorization.batch-size "
            "parquet.vectorization.enabled split.adaptive-size.enabled "
            "split.metadata-target-size split.planning-lookback"
        ),
        "schema.": "name-mapping.default",
        "write.": (
            "audit.publish.enabled avro.compression-level data.path distribution-mode "
            "folder-storage.path location-provider.impl "
            "metadata.metrics.max-inferred-column-defaults metadata.path object-storage.enabled "
            "object-storage.partitioned-paths object-storage.path py-location-provider.impl "
            "spark.accept-any-schema spark.advisory-partition-size-bytes spark.fanout.enabled "
            "wap.enabled"
        ),
        "write.delete.": (
            "avro.compression-codec avro.compression-level distribution-mode granularity "
            "isolation-level mode parquet.compression-codec parquet.compression-level "
            "parquet.dict-size-bytes parquet.page-row-limit parquet.page-size-bytes "
            "parquet.row-group-size-bytes target-file-size-bytes"
        ),
        "write.merge.": "distribution-mode isolation-level mode",
        "write.parquet.": (
            "bloom-filter-max-bytes page-row-limit page-size-bytes page-version "
            "row-group-check-max-record-count row-group-check-min-record-count"
        ),
        "write.update.": "distribution-mode isolation-level mode",
    }.items()
    for name in names.split()
)
_ICEBERG_PREFIXES = (
    *OF_ONE_COLUMN,
    "write.orc.",
    "write.delete.orc.",
)
_AMORO = frozenset(
    f"{prefix}{name}"
    for prefix, names in {
        "base.": "refresh-interval",
        "": "clean-dangling-delete-files.enabled",
        "data-expire.": (
            "datetime-number-format datetime-string-pattern enabled field level retention-time "
            "since"
        ),
        "log-store.": (
            "address consistency-guarantee.enabled data-format data-version enabled topic type"
        ),
        "read.": "distribution-mode distribution.hash-mode",
        "self-optimizing.": (
            "allow-partial-commit evaluation.fallback-interval evaluation.mse-tolerance "
            "execute.num-retries filter max-file-size-bytes "
            "refresh-table.adaptive.increase-step-ms refresh-table.adaptive.max-interval-ms"
        ),
        "snapshot.": "base.keep.minutes",
        "tag.auto-create.": (
            "enabled max-age-ms tag-format trigger.max-delay.minutes trigger.offset.minutes "
            "trigger.period"
        ),
        "write.": "distribution.hash-mode",
    }.items()
    for name in names.split()
)
_KNOWN = {
    **{name: name for name in (*_VALUES, *_ICEBERG, *_AMORO)},
    **_SPELLINGS,
}
"""In lower case -> as it is spelt."""
_SAME, _MAY_BE_LONGER = 0.85, 2
"""How alike a name must be to be a typo, and how many characters longer or shorter where it begins
otherwise: ``acme.write.data.path`` is no typo."""


def user_properties(given: Mapping[Any, Any]) -> dict[str, str]:
    """Return the properties as a table keeps them: options in their own spelling.

    Raises:
        InvalidInputError: naming the property that is not a user's, not known or has no such value.
    """
    properties: dict[str, str] = {}
    for name, text in given.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise InvalidInputError(f"table property {name!r} = {text!r}: expected two texts")
        kept = _SPELLINGS.get(name.lower(), name)
        if kept in properties:
            raise InvalidInputError(f"table property {kept!r} is given twice; give it once")
        check_name(name)
        _check_value(name, text)
        properties[kept] = text
    check_buckets(properties)
    return properties


def check_name(name: str) -> None:
    """Refuse a name that no user may set, or that looks like a known one mistyped.

    Raises:
        InvalidInputError: naming the property and, where there is one, the nearest known name.
    """
    if is_own(name):
        raise InvalidInputError(f"table property {name!r} is set by Arctic itself")
    if name in _KNOWN or name.lower() in _OPTIONS or name.startswith(_ICEBERG_PREFIXES):
        return
    if name.lower() in _CALL_ONLY:
        raise InvalidInputError(
            f"table property {name!r} is an option of a call; give it there, in options="
        )
    if not name.strip():
        raise InvalidInputError(f"table property {name!r} has no name")
    if names_a_secret(name):
        raise InvalidInputError(
            f"table property {name!r} would stand in the table's metadata for everybody to read; "
            "give a secret as a property of the catalog"
        )
    near = _nearest(name)
    if near is not None:
        raise InvalidInputError(f"unknown table property {name!r}; did you mean {near!r}?")
    if name.lower().startswith(OPTION_PREFIXES):
        prefix = next(each for each in OPTION_PREFIXES if name.lower().startswith(each))
        raise InvalidInputError(
            f"unknown table property {name!r}; properties that begin with {prefix!r} are Arctic's, "
            "see docs/options.md; give one of your own another name"
        )


def check_removable(name: str, present: Iterable[str]) -> None:
    """Refuse to remove a property of Arctic's own, or one that looks like another one mistyped.

    Args:
        name: of the property.
        present: the properties that the table has.

    Raises:
        InvalidInputError: naming the property.
    """
    if is_own(name):
        raise InvalidInputError(f"table property {name!r} is set by Arctic itself")
    known = {each.lower(): each for each in present if not is_own(each)}
    if name in _KNOWN or name.lower() in known or name.lower() in _OPTIONS:
        return
    hint = nearest(name, known)
    if hint is not None:
        raise InvalidInputError(f"there is no table property {name!r}; {hint}")


def other_spellings(names: Iterable[str], present: Iterable[str]) -> list[str]:
    """Return the properties of a table that set the same options under other spellings."""
    wanted = set(names)
    options = {name.lower() for name in wanted if name.lower() in _OPTIONS}
    return [name for name in present if name not in wanted and name.lower() in options]


def _nearest(name: str) -> str | None:
    for near in difflib.get_close_matches(name.lower(), _KNOWN, n=1, cutoff=_SAME):
        begins_so = near.partition(".")[0] == name.lower().partition(".")[0]
        if begins_so or abs(len(near) - len(name)) <= _MAY_BE_LONGER:
            return _KNOWN[near]
    return None


def _check_value(name: str, text: str) -> None:
    option = _OPTIONS.get(name.lower())
    if option is not None:
        option.value({}, {name: text})
        return
    pattern, expected = _VALUES.get(name, (None, ""))
    if name.startswith(METRICS_OF_COLUMN):
        pattern, expected = _METRICS
    if pattern is not None and not pattern.fullmatch(text):
        raise InvalidInputError(f"table property {name} = {text!r}: expected {expected}")
    if name == NAME_MAPPING:
        mapped_ids(text)
