"""The commands for states of a table: versions, tags, branches, clone, restore and its kin."""

from __future__ import annotations

from copy import copy
from typing import Any

import click

import arctic
from arctic.cli.place import catalog_options, place_of
from arctic.cli.printed.render import print_json, print_rows
from arctic.job.past.restore_job import RestoreReport

_version = click.option(
    "--version", metavar="VERSION", help="A version, tag or snapshot; else the newest."
)
_as_of = click.option(
    "--as-of", metavar="TIME", help="The state at this time, such as 2024-02-29T12:00:00Z."
)


@click.command()
@click.argument("table")
@catalog_options
def versions(table: str, output: str, **place: Any) -> None:
    """List the states that commits have made of TABLE, oldest first, with their tags."""
    found = arctic.open_table(table, **place_of(**place)).versions()
    if output == "json":
        print_json(found.to_pylist())
    else:
        print_rows(found)


@click.command()
@click.argument("table")
@click.argument("name")
@_version
@_as_of
@catalog_options
def tag(
    table: str, name: str, version: str | None, as_of: str | None, output: str, **place: Any
) -> None:
    """Give a state of TABLE a NAME, so that expiry keeps it."""
    made = arctic.open_table(table, **place_of(**place)).tag(name, version, as_of=as_of)
    if output == "json":
        print_json({"table": table, "tag": made.name, **_ids(made)})
    else:
        click.echo(
            f"{table}: tag {made.name} is base snapshot {made.base_snapshot_id}, change snapshot "
            f"{made.change_snapshot_id}"
        )


create_tag = copy(tag)
"""The same by the name that it has in SQL, beside ``create-branch``."""
create_tag.name, create_tag.hidden = "create-tag", True


@click.command("drop-tag")
@click.argument("table")
@click.argument("name")
@catalog_options
def drop_tag(table: str, name: str, output: str, **place: Any) -> None:
    """Forget the tag NAME of TABLE."""
    arctic.open_table(table, **place_of(**place)).drop_tag(name)
    _print_dropped(table, "tag", name, output)


@click.command()
@click.argument("table")
@click.argument("version", required=False)
@_as_of
@catalog_options
def restore(table: str, version: str | None, as_of: str | None, output: str, **place: Any) -> None:
    """Bring TABLE back to a VERSION: a number, a tag or a snapshot; or to a time."""
    _print(arctic.open_table(table, **place_of(**place)).restore(version, as_of=as_of), output)


@click.command("set-current-version")
@click.argument("table")
@click.argument("version")
@catalog_options
def set_current_version(table: str, version: str, output: str, **place: Any) -> None:
    """Bring a VERSION of TABLE back: a number, a tag or a snapshot."""
    _print(arctic.open_table(table, **place_of(**place)).set_current_version(version), output)


@click.command("rollback-to-timestamp")
@click.argument("table")
@click.argument("time")
@catalog_options
def rollback_to_timestamp(table: str, time: str, output: str, **place: Any) -> None:
    """Bring the state of TABLE at a TIME back, such as 2024-02-29T12:00:00Z."""
    _print(arctic.open_table(table, **place_of(**place)).rollback_to_timestamp(time), output)


@click.command("rollback-to-snapshot")
@click.argument("table")
@click.argument("snapshot", type=int)
@catalog_options
def rollback_to_snapshot(table: str, snapshot: int, output: str, **place: Any) -> None:
    """Bring the state of a SNAPSHOT of TABLE back, by its id in either store."""
    _print(arctic.open_table(table, **place_of(**place)).rollback_to_snapshot(snapshot), output)


@click.command()
@click.argument("table")
@click.argument("target")
@_version
@_as_of
@catalog_options
def clone(
    table: str, target: str, version: str | None, as_of: str | None, output: str, **place: Any
) -> None:
    """Make a table TARGET that begins with the rows of TABLE, by reference to its files."""
    report = arctic.clone(table, target, version=version, as_of=as_of, **place_of(**place))
    if output == "json":
        print_json({"table": table, "target": report.target, **_ids(report)})
    else:
        click.echo(str(report))


@click.command()
@click.argument("table")
@catalog_options
def branches(table: str, output: str, **place: Any) -> None:
    """List the branches of TABLE, with the snapshot at the head of each."""
    found = arctic.open_table(table, **place_of(**place)).branches()
    rows = [{"branch": each.name, "snapshot_id": each.snapshot_id} for each in found]
    if output == "json":
        print_json(rows)
    else:
        for row in rows:
            click.echo(f"{row['branch']}: snapshot {row['snapshot_id']}")


@click.command("create-branch")
@click.argument("table")
@click.argument("name")
@_version
@_as_of
@catalog_options
def create_branch(
    table: str, name: str, version: str | None, as_of: str | None, output: str, **place: Any
) -> None:
    """Let branch NAME of TABLE, which has no key, begin at a state of it."""
    made = arctic.open_table(table, **place_of(**place)).create_branch(name, version, as_of=as_of)
    if output == "json":
        print_json({"table": table, "branch": made.name, "snapshot_id": made.snapshot_id})
    else:
        click.echo(f"{table}: branch {made.name} is at snapshot {made.snapshot_id}")


@click.command("drop-branch")
@click.argument("table")
@click.argument("name")
@catalog_options
def drop_branch(table: str, name: str, output: str, **place: Any) -> None:
    """Forget the branch NAME of TABLE."""
    arctic.open_table(table, **place_of(**place)).drop_branch(name)
    _print_dropped(table, "branch", name, output)


@click.command("fast-forward")
@click.argument("table")
@click.argument("branch")
@click.argument("to")
@catalog_options
def fast_forward(table: str, branch: str, to: str, output: str, **place: Any) -> None:
    """Move BRANCH of TABLE, such as main, to the head of branch TO, which goes on from it."""
    before, after = arctic.open_table(table, **place_of(**place)).fast_forward(branch, to)
    if output == "json":
        print_json({"table": table, "branch": branch, "before": before, "after": after})
    else:
        click.echo(f"{table}: branch {branch} is at snapshot {after}, was at {before}")


def _print_dropped(table: str, kind: str, name: str, output: str) -> None:
    if output == "json":
        print_json({"table": table, "dropped": name})
    else:
        click.echo(f"{table}: dropped {kind} {name}")


def _print(report: RestoreReport, output: str) -> None:
    if output == "json":
        print_json(
            {
                "table": report.table,
                "snapshot_id": report.snapshot_id,
                "restored": _ids(report),
                "files_written": report.files_written,
                "seconds": round(report.seconds, 3),
            }
        )
    else:
        click.echo(str(report))


def _ids(found: Any) -> dict[str, int | None]:
    return {
        "base_snapshot_id": found.base_snapshot_id,
        "change_snapshot_id": found.change_snapshot_id,
    }
