"""All options, and what is refused where it is none of them.

Rules:
    - An option that nobody knows is refused with the nearest known name.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType

from arctic.errors import InvalidInputError
from arctic.options import (
    catalog_options,
    change_options,
    expire_options,
    file_options,
    optimize_options,
    read_options,
    service_options,
    table_options,
    write_options,
)
from arctic.options.catalog_options import CATALOG_PREFIX
from arctic.options.option import Option, Scope

_LISTS = (
    catalog_options,
    read_options,
    change_options,
    write_options,
    file_options,
    expire_options,
    table_options,
    optimize_options,
    service_options,
)


def _of(module: ModuleType) -> Iterator[Option[object]]:
    return (each for each in vars(module).values() if isinstance(each, Option))


OPTIONS: tuple[Option[object], ...] = tuple(option for each in _LISTS for option in _of(each))
"""In the order of the lists, and of their text."""
_BY_NAME = {name.lower(): option for option in OPTIONS for name in option.names}
_SPELT = {name.lower(): name for option in OPTIONS for name in option.names}


def check_known(options: Iterable[str], scope: Scope) -> None:
    """Refuse options that mean nothing in this place, so that a typo is never ignored.

    Where ``options`` has values, they are looked at too: some are read by Spark alone.

    Raises:
        InvalidInputError: naming the option and the nearest known one, or what its value may be.
    """
    known = {
        name: option
        for name, option in _BY_NAME.items()
        if scope in option.scopes or Scope.CATALOG in option.scopes
    }
    for name in options:
        if name.lower() in known or name.lower().startswith(CATALOG_PREFIX):
            continue
        foreign = _ELSEWHERE.get(name.lower())
        if foreign is not None:
            raise InvalidInputError(f"unknown {scope.value} option {foreign!r}; {_EVOLVE}")
        public = {each: _SPELT[each] for each in known if not each.startswith("_")}
        hint = nearest(name, public) or f"known: {', '.join(public.values())}"
        raise InvalidInputError(f"unknown {scope.value} option {name!r}; {hint}")
    if isinstance(options, Mapping):
        for name in options:
            if name.lower() in known:
                known[name.lower()].value(options)


def nearest(name: str, known: Mapping[str, str]) -> str | None:
    """Return the question whether another name was meant; None where none comes near.

    Args:
        name: what is unknown.
        known: names in lower case -> as they are spelt.
    """
    near = difflib.get_close_matches(name.lower(), known, n=1)
    return f"did you mean {known[near[0]]!r}?" if near else None


_ELSEWHERE = {
    name.lower(): name
    for name in (
        *("mergeSchema", "merge-schema", "write.merge-schema", "overwriteSchema"),
        *("autoMerge", "schemaEvolution"),
    )
}
"""What other formats call this; Spark lowers names, so the usual spelling is kept here."""
_EVOLVE = (
    "a write adds and widens columns by option mergeSchema; arctic.evolve_schema changes them in "
    "every way, before the write"
)
