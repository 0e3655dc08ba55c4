"""The ``arctic`` command: tables, show, explain, history, expire.

Rules:
    - A failure is one line on standard error: exit code 1, or 2 when the command line is wrong.
    - No stack trace reaches the terminal; ``ARCTIC_DEBUG=1`` asks for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import click

from arctic import api
from arctic.cli.cdc import mirror, print_mirror_report
from arctic.cli.expire import print_report as print_expire_report
from arctic.cli.history import commit_lines, commits_of
from arctic.cli.optimize import (
    print_report,
    print_report_json,
    print_status,
    print_status_json,
)
from arctic.cli.render import print_json, print_rows
from arctic.cli.show import describe
from arctic.errors import ArcticError

F = TypeVar("F", bound=Callable[..., Any])

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code.

    Args:
        arguments: what follows the program name; that of this process if None. Nothing asks for
            help.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        code = commands.main(given or ["--help"], prog_name="arctic", standalone_mode=False)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else "arctic"
        _fail(EXIT_USAGE, f"{error.format_message()} See '{path} --help'.", error)
    except click.ClickException as error:
        _fail(EXIT_FAILED, error.format_message(), error)
    except ArcticError as error:
        _fail(EXIT_FAILED, error.message, error)
    except (click.Abort, KeyboardInterrupt) as error:
        _fail(EXIT_INTERRUPTED, "interrupted", error)
    except Exception as error:  # noqa: BLE001 - the outermost edge: what is left is a bug of ours
        kind = type(error).__name__
        _fail(EXIT_FAILED, f"unexpected {kind}: {error}; ARCTIC_DEBUG=1 shows where", error)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(code: int, message: str, error: BaseException) -> NoReturn:
    if os.environ.get("ARCTIC_DEBUG") == "1":
        raise error
    click.echo("arctic: " + " ".join(message.split()), err=True)
    sys.exit(code)


def _property(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    for name, equals, _ in pairs:
        if not equals or not name.strip():
            raise click.BadParameter("expected NAME=VALUE, for example uri=http://localhost:8181.")
    return {name.strip(): value for name, _, value in pairs}


def catalog_options(command: F) -> F:
    """Add the options that every command takes: where the tables are, and how to print."""
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
            callback=_property,
            help="A PyIceberg catalog property, such as uri=...; may be repeated.",
        ),
        click.option("--catalog", metavar="NAME", help="A catalog configured for PyIceberg."),
        click.option(
            "--warehouse",
            metavar="FOLDER",
            help="Folder of the embedded catalog; else ARCTIC_WAREHOUSE, else ./warehouse.",
        ),
    ):
        command = option(command)
    return command


def _place(
    warehouse: str | None, catalog: str | None, properties: dict[str, str]
) -> dict[str, Any]:
    if catalog is not None and properties:
        raise click.UsageError("--catalog names a configured catalog; leave out --property.")
    return {"warehouse": warehouse, "catalog": catalog or properties or None}


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]


_columns = click.option("--columns", metavar="A,B,C", help="Columns to read, in this order.")
_filter = click.option(
    "--filter", "row_filter", metavar="TEXT", help='Rows to keep, such as "amount > 10".'
)


@click.group()
@click.version_option(package_name="arctic-lakehouse")
def commands() -> None:
    """Look at Arctic tables: a keyed streaming lakehouse table format on Iceberg."""


@commands.command()
@click.argument("namespace", required=False)
@catalog_options
def tables(namespace: str | None, output: str, **place: Any) -> None:
    """List the tables of a NAMESPACE, or of all."""
    names = api.list_tables(namespace, **_place(**place))
    if output == "json":
        print_json(names)
        return
    for name in names:
        click.echo(name)


@commands.command()
@click.argument("table")
@click.option(
    "--rows", type=click.IntRange(min=0), default=10, show_default=True, help="Rows to print."
)
@_columns
@_filter
@catalog_options
def show(
    table: str,
    rows: int,
    columns: str | None,
    row_filter: str | None,
    output: str,
    **place: Any,
) -> None:
    """Describe a TABLE (namespace.table): schema, key, stores, nodes and some rows."""
    description = describe(
        api.open_table(table, **_place(**place)),
        row_count=rows,
        columns=_names(columns),
        row_filter=row_filter,
    )
    if output == "json":
        print_json(description.document())
    else:
        description.print()


@commands.command()
@click.argument("table")
@_columns
@_filter
@click.option(
    "--analyze", is_flag=True, help="Carry it out, and count the files and row groups it touches."
)
@catalog_options
def explain(
    table: str,
    columns: str | None,
    row_filter: str | None,
    analyze: bool,
    output: str,
    **place: Any,
) -> None:
    """Print how a read of TABLE would be carried out: nodes, files, deletes, tasks."""
    plan = api.explain(
        table, columns=_names(columns), filter=row_filter, analyze=analyze, **_place(**place)
    )
    if output == "json":
        print_json({"table": table, "plan": plan.splitlines()})
    else:
        click.echo(plan)


@commands.command()
@click.argument("table")
@catalog_options
def history(table: str, output: str, **place: Any) -> None:
    """List the snapshots of both stores of TABLE, oldest first."""
    commits = commits_of(api.open_table(table, **_place(**place)))
    if output == "json":
        print_json(commits.to_pylist(maps_as_pydicts="strict"))
    else:
        print_rows(commit_lines(commits))


_where = click.option(
    "--where", metavar="TEXT", help="Only the partitions that can hold such rows."
)


@commands.command()
@click.argument("table")
@_where
@catalog_options
def status(table: str, where: str | None, output: str, **place: Any) -> None:
    """Say what TABLE consists of, how healthy it is, and what optimizing is due."""
    found = api.status(table, where=where, **_place(**place))
    if output == "json":
        print_status_json(found)
    else:
        print_status(found)


@commands.command()
@click.argument("table")
@click.option(
    "--type",
    "kind",
    type=click.Choice(["minor", "major", "full"]),
    help="For every partition; else what is due in each.",
)
@_where
@catalog_options
def optimize(table: str, kind: str | None, where: str | None, output: str, **place: Any) -> None:
    """Fold the changes of TABLE into base files, and small files into large ones."""
    report = api.optimize(table, type=kind, where=where, **_place(**place))
    if output == "json":
        print_report_json(report)
    else:
        print_report(report)


@commands.command()
@click.argument("table")
@click.option("--dry-run", is_flag=True, help="Change nothing, only say what would go.")
@click.option(
    "--option",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_property,
    help="An option instead of the table's property, such as snapshot.keep.duration=1d.",
)
@catalog_options
def expire(table: str, dry_run: bool, options: dict[str, str], output: str, **place: Any) -> None:
    """Remove from TABLE what is no longer needed: merged changes, old snapshots, orphans."""
    report = api.expire(table, dry_run=dry_run, options=options, **_place(**place))
    print_expire_report(report, output)


if __name__ == "__main__":
    main()


@commands.group()
def cdc() -> None:
    """Follow the changes of a database."""


@cdc.command()
@click.option("--dsn", required=True, help="What libpq takes: postgresql://user@host/database.")
@click.option(
    "--tables",
    required=True,
    multiple=True,
    metavar="A,B,C",
    help="Tables as schema.table, or schema.table:name; may be repeated.",
)
@click.option("--into", required=True, metavar="NAMESPACE", help="Where the mirrors go.")
@click.option("--slot", default="arctic", show_default=True, help="The replication slot.")
@click.option("--once", is_flag=True, help="Stop when everything committed so far is mirrored.")
@click.option(
    "--max-changes",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    help="Changes of one batch, about; a transaction is never cut.",
)
@click.option(
    "--interval",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Seconds to wait when there is nothing to do.",
)
@catalog_options
def postgres(
    dsn: str,
    tables: tuple[str, ...],
    into: str,
    slot: str,
    once: bool,
    max_changes: int,
    interval: float,
    output: str,
    **place: Any,
) -> None:
    """Copy tables of PostgreSQL, then follow their changes, each exactly once."""
    report = mirror(
        dsn,
        tables,
        into=into,
        slot=slot,
        once=once,
        max_changes=max_changes,
        interval=interval,
        place=_place(**place),
    )
    print_mirror_report(report, output)
