"""The commands of ``arctic``, each loaded when it is asked for.

A command imports what carries it out, and all of them together take seconds to import. So the help
of the whole is printed from what stands here.
"""

from __future__ import annotations

from collections.abc import Mapping

import click

from arctic.late_import import imported

HOMES: Mapping[str, Mapping[str, str | None]] = {
    "arctic.cli.look": {
        "tables": "List the tables of a NAMESPACE, or of all.",
        "show": "Describe a TABLE (namespace.table): schema, key, stores, nodes and some rows.",
        "explain": "Print how a read of TABLE would be carried out: nodes, files, deletes, tasks.",
        "history": "List the snapshots of both stores of TABLE, oldest first.",
    },
    "arctic.cli.verbs.edit": {
        "delete": "Delete the rows of TABLE that a condition is true of, in one commit.",
        "update": "Set columns of the rows of TABLE that a condition is true of, in one commit.",
    },
    "arctic.cli.verbs.past": {
        "versions": (
            "List the states that commits have made of TABLE, oldest first, with their tags."
        ),
        "tag": "Give a state of TABLE a NAME, so that expiry keeps it.",
        "create-tag": None,
        "drop-tag": "Forget the tag NAME of TABLE.",
        "restore": "Bring TABLE back to a VERSION: a number, a tag or a snapshot; or to a time.",
        "clone": (
            "Make a table TARGET that begins with the rows of TABLE, by reference to its files."
        ),
        "branches": "List the branches of TABLE, with the snapshot at the head of each.",
        "create-branch": "Let branch NAME of TABLE, which has no key, begin at a state of it.",
        "drop-branch": "Forget the branch NAME of TABLE.",
        "fast-forward": (
            "Move BRANCH of TABLE, such as main, to the head of branch TO, which goes on from it."
        ),
        "set-current-version": "Bring a VERSION of TABLE back: a number, a tag or a snapshot.",
        "rollback-to-snapshot": (
            "Bring the state of a SNAPSHOT of TABLE back, by its id in either store."
        ),
        "rollback-to-timestamp": (
            "Bring the state of TABLE at a TIME back, such as 2024-02-29T12:00:00Z."
        ),
    },
    "arctic.cli.change": {
        "set": "Set properties of TABLE, even if a bad one keeps it from being opened.",
        "unset": "Remove properties of TABLE, so that their defaults apply again.",
        "rename": "Call TABLE by NEW_NAME (namespace.table) from now on.",
    },
    "arctic.cli.verbs.evolve": {
        "evolve": "Add, rename, widen and drop columns of TABLE, all at once.",
    },
    "arctic.cli.upkeep": {
        "status": "Say what TABLE consists of, how healthy it is, and what optimizing is due.",
        "optimize": "Fold the changes of TABLE into base files, and small files into large ones.",
        "expire": (
            "Remove from TABLE what is no longer needed: merged changes, old snapshots, orphans."
        ),
        "clean-orphans": "Delete files in the folders of TABLE that nothing refers to.",
        "watermarks": "Say how far event time has come in TABLE with each of its writers.",
        "retire-writer": "Let the watermark of TABLE no longer wait for WRITER.",
    },
    "arctic.cli.serving": {
        "serve": "Look after every table: optimize what is due, clean what nobody needs.",
    },
    "arctic.cli.ui": {
        "ui": "Show tables as pages for a browser, and change nothing.",
    },
    "arctic.cli.verbs.complete": {
        "ready": "Say whether TABLE has every row before a time; exit code 3 if it has not.",
        "windows": (
            "Give each window of TABLE once, when it is complete: EVERY is its length, such as "
            "10min."
        ),
    },
    "arctic.cli.verbs.consumer_commands": {
        "consumers": "List the consumers of the changes of TABLE, with how far they are behind.",
        "drop-consumer": (
            "Forget the consumer NAME of TABLE, so that expiry may take what only it held back."
        ),
    },
    "arctic.cli.verbs.view_commands": {
        "materialize": "Make a table of what the statement SQL returns, to be kept up by refresh.",
        "refresh": "Bring VIEWS up to their sources, one after another.",
        "views": "List the views with each of their sources, and how far they are behind.",
    },
    "arctic.cli.verbs.publish": {
        "publish": "Show the newest rows of TABLE as a plain Iceberg table that any engine reads.",
        "unpublish": "Drop the published table of TABLE; its own rows stay.",
    },
    "arctic.cli.verbs.adopt": {
        "adopt": "Give the plain Iceberg table TABLE a primary key; no data file is rewritten.",
        "release": "Make TABLE a plain Iceberg table again.",
        "repair": (
            "Turn the equality deletes of the Iceberg table TABLE into position deletes or vectors."
        ),
    },
    "arctic.cli.cdc": {
        "cdc": "Follow the changes of a database.",
    },
    "arctic.cli.engines": {
        "package": (
            "Write this package to a zip, which Spark sends to workers that have all but it."
        ),
        "spark-conf": (
            "Print the settings with which spark-sql, a Thrift or a Connect server has the catalog."
        ),
    },
}
"""Module -> command -> the first sentence of its help; None: it is not listed."""
_HOME_OF = {name: home for home, commands in HOMES.items() for name in commands}


class LateCommands(click.Group):
    """A group that knows its commands by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order in which they are listed."""
        return sorted(_HOME_OF)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command; None: there is none of that name."""
        home = _HOME_OF.get(cmd_name)
        if home is None:
            return None
        defined = vars(imported(home)).values()
        return next(
            each for each in defined if isinstance(each, click.Command) and each.name == cmd_name
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does, and load none."""
        said = {name: text for commands in HOMES.values() for name, text in commands.items()}
        listed = [(name, text) for name in sorted(said) if (text := said[name]) is not None]
        with formatter.section("Commands"):
            formatter.write_dl(listed)
