"""The ``arctic`` command: its entry, exit codes and errors.

Rules:
    - A failure is one line on standard error: exit code 1, or 2 when the command line is wrong.
    - No stack trace reaches the terminal; ``ARCTIC_DEBUG=1`` asks for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from arctic.cli.late_commands import LateCommands
from arctic.errors import ArcticError
from arctic.redact import without_secrets

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code.

    Args:
        arguments: what follows the program name; None takes that of this process. An empty list
            prints the help.
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
        said = without_secrets(str(error))
        _fail(EXIT_FAILED, f"unexpected {kind}: {said}; ARCTIC_DEBUG=1 shows where", error)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(code: int, message: str, error: BaseException) -> NoReturn:
    if os.environ.get("ARCTIC_DEBUG") == "1":
        raise error
    click.echo("arctic: " + " ".join(message.split()), err=True)
    sys.exit(code)


@click.group(cls=LateCommands)
@click.version_option(package_name="arctic-lakehouse")
def commands() -> None:
    """Look at Arctic tables: a keyed streaming lakehouse table format on Iceberg."""


if __name__ == "__main__":
    main()
