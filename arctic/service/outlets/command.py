"""Events to a command: a JSON document on its standard input."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable

from arctic.errors import InvalidInputError
from arctic.service.outlets.outlet import NotToldError

_SECONDS = 30


def command(line: str, *, seconds: float | None = _SECONDS) -> Callable[[str], None]:
    """Return what runs a command for a document; no shell reads the line.

    Args:
        line: the command and its arguments.
        seconds: that it may take; None: as long as it likes.

    Raises:
        InvalidInputError: there is no such command.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InvalidInputError(f"event command {line!r}: {error}") from error
    if not words or shutil.which(words[0]) is None:
        raise InvalidInputError(f"event command {line!r}: expected a program that can be run")

    def tell(document: str) -> None:
        try:
            done = subprocess.run(
                words,
                input=document.encode(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=seconds,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotToldError(f"{words[0]!r}: {type(error).__name__}") from error
        if done.returncode:
            raise NotToldError(f"{words[0]!r} ended with exit code {done.returncode}")

    return tell
