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
        given[options[key]] = _texts(value)
    context.default_map = {**given, **(context.default_map or {})}


def _options(command: click.Command) -> dict[str, str]:
    """Return the options of a command by their long names -> the names of their parameters."""
    return {
        text.removeprefix("--"): option.name
        for option in command.params
        if isinstance(option, click.Option) and option.expose_value and option.name is not None
        for text in option.opts
        if text.startswith("--")
    }


def _texts(value: object) -> object:
    """Return a value as a command line would give it; a table is a list of ``name=value``."""
    if isinstance(value, Mapping):
        return [f"{name}={text}" for name, text in value.items()]
    return value
