"""Writes docs/options.md from the options in the code: ``make docs``."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from arctic.options import OPTIONS, Option, Scope

_INTRO = """\
# Options

Every option and table property, generated from `arctic/options` by `make docs`; a test fails
when this page and the code differ.

Names are compared without case. What a call gives wins over the table property of the same name,
which wins over the default. An unknown option is refused with the nearest known name.
"""

_SECTIONS = {
    Scope.CATALOG: (
        "Where the table is",
        "Options of every read and write. In Python they are the `warehouse=` and `catalog=` "
        "arguments. Options that begin with `catalog.` are PyIceberg catalog properties, handed "
        "on without the prefix: `catalog.uri`, `catalog.s3.endpoint`. Under `catalog.secret.` "
        "they mean the same, and Spark prints them nowhere; see [Spark](spark.md#secrets).",
    ),
    Scope.READ: ("Reading", "Options of `spark.read`, `arctic.read` and `arctic.explain`."),
    Scope.CHANGES: (
        "Changes",
        "Options of `arctic.read_changes`, and of `spark.read` where one of them says that changes "
        "are read; see [streaming](streaming.md). Those that begin with `start` or `change` and "
        "the last also of a stream.",
    ),
    Scope.STREAM: ("Streams", "Options of `spark.readStream`; see [streaming](streaming.md)."),
    Scope.WRITE: ("Writing", "Options of `df.write` and `arctic.write`."),
    Scope.OPTIMIZE: (
        "Optimizing",
        "Options of `arctic.optimize` and `arctic.status`; each is a table property too.",
    ),
    Scope.EXPIRE: (
        "Cleaning",
        "Options of `arctic.expire` and of the command, as `--option NAME=VALUE`; see "
        "[cleaning](cleaning.md).",
    ),
    Scope.TABLE: (
        "Tables",
        "Properties that no call takes as an option; `base.*` and `change.*` count for files that "
        "are written later. The options above that are also table properties may stand in "
        "`properties=` as well. [Tables](tables.md) says how they are changed, and which other "
        "names a table takes.",
    ),
}


def options_page() -> str:
    """Return the text of docs/options.md."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield _INTRO
    for scope, (title, text) in _SECTIONS.items():
        chosen = [
            option
            for option in OPTIONS
            if _section(option) is scope and not option.name.startswith("_")
        ]
        yield f"## {title}\n\n{text}\n"
        yield "| option | default | table property | meaning |"
        yield "|---|---|---|---|"
        for option in chosen:
            also = "yes" if Scope.TABLE in option.scopes else ""
            yield f"| {_names(option)} | {_default(option)} | {also} | {_meaning(option)} |"
        yield ""


def _section(option: Option[object]) -> Scope:
    return next(scope for scope in _SECTIONS if scope in option.scopes)


def _names(option: Option[object]) -> str:
    aliases = "".join(f"<br>or `{alias}`" for alias in option.aliases)
    return f"`{option.name}`{aliases}"


def _default(option: Option[object]) -> str:
    value = option.default
    if value is None:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int) and value >= 2**20 and value % 2**20 == 0:
        return f"`{value}` ({value // 2**20} MiB)"
    return f"`{value}`"


def _meaning(option: Option[object]) -> str:
    return option.doc.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(options_page())
