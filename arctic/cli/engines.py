"""The commands that set up other programs: spark-conf, package."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from arctic.cli.place import catalog_options, place_of
from arctic.cli.printed.render import print_json
from arctic.errors import InvalidInputError
from arctic.options import SEALED_PREFIX
from arctic.with_spark import package_zip
from arctic.with_spark import spark_conf as settings_of


@click.command("spark-conf")
@click.option("--name", default="arctic", show_default=True, help="Of the catalog, in SQL.")
@click.option("--flags", is_flag=True, help="Print --conf flags in place of lines of a file.")
@catalog_options
def spark_conf(name: str, flags: bool, output: str, **place: Any) -> None:
    """Print the settings with which spark-sql, a Thrift or a Connect server has the catalog.

    They belong into spark-defaults.conf, or behind the name of the program: eval spark-sql
    "$(arctic spark-conf --flags)".
    """
    settings = settings_of(name, **place_of(**place))
    if output == "json":
        print_json(settings)
    elif flags:
        for key in settings:
            if key.startswith(f"spark.sql.catalog.{name}.{SEALED_PREFIX}"):
                raise InvalidInputError(
                    f"setting {key!r} may hold a secret, and everybody on this machine sees the "
                    "arguments of a program; leave out --flags, and write the lines into a file "
                    "that others cannot read, for spark-sql --properties-file"
                )
        click.echo(
            " ".join(f"--conf {shlex.quote(f'{key}={text}')}" for key, text in settings.items())
        )
    else:
        for key, text in settings.items():
            click.echo(f"{key} {text}")


@click.command()
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default="arctic-lakehouse.zip",
    show_default=True,
    help="The zip; what is there is replaced.",
)
def package(out: Path) -> None:
    """Write this package to a zip, which Spark sends to workers that have all but it.

    As in spark-submit --py-files arctic-lakehouse.zip program.py.
    """
    click.echo(package_zip(out))
