"""What is asked of one of several catalogs: ``prod/etl`` is a group of ``prod`` alone."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from arctic.errors import InvalidInputError
from arctic.service.asked_service import AskedService

T = TypeVar("T")
_NAME = re.compile(r"[\w.-]+")


def asked_of_catalogs(
    names: Collection[str],
    asked: AskedService,
    *,
    groups: Mapping[str, int],
    executors: Mapping[str, str],
) -> dict[str, AskedService]:
    """Return what is asked of each catalog.

    Args:
        names: of the catalogs.
        asked: of all of them, without groups.
        groups: name, or catalog/name -> slots.
        executors: of them.

    Raises:
        InvalidInputError: a name that cannot be, or that of a catalog that there is not.
    """
    for name in names:
        if not _NAME.fullmatch(name) or set(name) == {"."}:
            raise InvalidInputError(
                f"catalog {name!r}; expected letters, digits, '_', '-' or '.', such as 'prod'"
            )
    return {
        name: replace(
            asked,
            groups=_own(name, names, groups),
            executors=_own(name, names, executors),
            history=None if asked.history is None else _own_file(name, asked.history),
        )
        for name in names
    }


def _own(name: str, names: Collection[str], given: Mapping[str, T]) -> dict[str, T]:
    """Return what is given of all catalogs, and of this one, which wins."""
    of_all, of_this = dict[str, T](), dict[str, T]()
    for key, value in given.items():
        catalog, slash, group = key.rpartition("/")
        if not slash:
            of_all[group] = value
        elif catalog not in names:
            raise InvalidInputError(
                f"group {key!r}: there is no catalog {catalog!r}; expected one of "
                f"{', '.join(sorted(names))}"
            )
        elif catalog == name:
            of_this[group] = value
    return {**of_all, **of_this}


def _own_file(name: str, path: str) -> str:
    """Return the file of a catalog beside those of others.

    >>> _own_file("prod", "/var/lib/arctic/history.db")
    '/var/lib/arctic/history-prod.db'
    """
    whole = Path(path)
    return str(whole.with_name(f"{whole.stem}-{name}{whole.suffix}"))
