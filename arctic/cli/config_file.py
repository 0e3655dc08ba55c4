"""Options of a command from a TOML file, under the names that they have on the command line."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from arctic.errors import InvalidInputError, StorageError
from arctic.options import nearest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_config(context: click.Context, _parameter: click.Parameter, path: str | None) -> None:
    """Take the options of a file for those that neither the call nor the environment gives.

    Raises:
        StorageError: the file cannot be read.
        InvalidInputError: it is no TOML, or names an option that there is not.
    """
    if path is None:
        return
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise StorageError(f"configuration {path!r}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"configuration {path!r} is no TOML: {error}") from error
    options = _options(context.command)
    given: dict[str, Any] = {}
    for name, value in found.items():
        key = name.replace("_", "-").lower()
        if key not in options:
            hint = nearest(key, {each: each for each in options}) or f"known: {', '.join(options)}"
            raise InvalidInputError(f"configuration {path!r}: unknown option {name!r}; {hint}")
        given[str(options[key].name)] = _texts(value, is_list=options[key].multiple)
    context.default_map = {**given, **(context.default_map or {})}


def _options(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by their long names."""
    return {
        text.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option) and option.expose_value and option.name is not None
        for text in option.opts
        if text.startswith("--")
    }


def _texts(value: object, *, is_list: bool) -> object:
    """Return a value as a command line would give it; a table is a list of ``name=value``."""
    if is_list and isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [f"{name}={text}" for name, text in value.items()]
    return value
