"""Where the tables of a command are, and how it prints: options that every command takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def name_value_pairs(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    """Read repeated ``NAME=VALUE`` arguments."""
    pairs = [value.partition("=") for value in values]
    for name, equals, _ in pairs:
        if not equals or not name.strip():
            raise click.BadParameter("expected NAME=VALUE, for example uri=http://localhost:8181.")
    names = [name.strip() for name, _, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"{name} is given twice.")
    return {name: value for name, (_, _, value) in zip(names, pairs, strict=True)}


looking_interval = click.option(
    "--interval",
    type=click.FloatRange(min=0, min_open=True),
    default=180.0,
    show_default=True,
    help="Seconds between two looks at the catalog.",
)

looking_threads = click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Tables that are looked at, at a time.",
)


def catalog_options(command: F) -> F:
    """Add the options that every command takes: where the tables are, and how to print."""
    help_text = "A catalog configured for PyIceberg."
    return _where(command, click.option("--catalog", metavar="NAME", help=help_text))


def catalogs_options(command: F) -> F:
    """Add the same, for one catalog or several."""
    help_text = "A catalog configured for PyIceberg; may be repeated."
    several = click.option("--catalog", metavar="NAME", multiple=True, help=help_text)
    return _where(command, several)


def _where(command: F, catalog: Callable[[F], F]) -> F:
    for option in (
        click.option(
            "--output",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="Text for people, or one JSON document.",
        ),
        click.option(
            "--property",
            "properties",
            metavar="NAME=VALUE",
            multiple=True,
            callback=name_value_pairs,
            help="A PyIceberg catalog property, such as uri=...; may be repeated.",
        ),
        catalog,
        click.option(
            "--warehouse",
            metavar="FOLDER",
            help="Folder of the embedded catalog; else ARCTIC_WAREHOUSE, else ./warehouse.",
        ),
    ):
        command = option(command)
    return command


def place_of(
    warehouse: str | None, catalog: str | None, properties: dict[str, str]
) -> dict[str, Any]:
    """Return the keyword arguments with which a verb finds its table."""
    if catalog is not None and properties:
        raise click.UsageError("--catalog names a configured catalog; leave out --property.")
    return {"warehouse": warehouse, "catalog": catalog or properties or None}


def places_of(
    warehouse: str | None, catalog: tuple[str, ...], properties: dict[str, str]
) -> dict[str, Any]:
    """Return the keyword arguments with which a verb finds the tables of a catalog, or of many."""
    if len(catalog) < 2:
        return place_of(warehouse, next(iter(catalog), None), properties)
    if warehouse is not None or properties:
        raise click.UsageError(
            "several --catalog name configured catalogs; leave out --warehouse and --property."
        )
    return {"catalogs": {name: name for name in catalog}}
