"""Runs the examples that stand in README.md and docs/.

Rules:
    - ``python`` blocks of a page run in order, in one namespace, in an empty folder.
    - A ``text`` block right after one is exactly what it prints; ``...`` stands for anything.
    - ``console`` blocks hold ``$ arctic ...`` lines and what they print.
    - Other blocks (``sh``, plain) are for reading.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arctic.cli.main import main as run_command

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """One example and what it must print."""

    page: str
    line: int
    language: str
    """``python``, or ``console`` for the arguments of one command."""
    code: str
    expected: str | None
    """None: whatever it prints is not shown."""


def snippets_of(path: Path) -> list[Snippet]:
    """Return the examples of a page, in order."""
    return list(_snippets(path.name, path.read_text(encoding="utf-8")))


def _snippets(page: str, text: str) -> Iterator[Snippet]:
    blocks = list(_BLOCK.finditer(text))
    for place, block in enumerate(blocks):
        language, code = block.group(1, 2)
        line = text.count("\n", 0, block.start()) + 1
        if language == "python":
            following = blocks[place + 1] if place + 1 < len(blocks) else None
            adjacent = following is not None and not text[block.end() : following.start()].strip()
            expected = following.group(2) if following and adjacent else None
            if following is not None and following.group(1) != "text":
                expected = None
            yield Snippet(page=page, line=line, language=language, code=code, expected=expected)
        elif language == "console":
            for command in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
                first, _, output = command.partition("\n")
                yield Snippet(page=page, line=line, language=language, code=first, expected=output)


def run(snippets: list[Snippet], folder: Path) -> None:
    """Run the examples of one page in a folder, and compare what they print.

    Raises:
        AssertionError: an example prints something else than the page shows.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with _working_in(folder):
        for snippet in snippets:
            printed = _printed(snippet, namespace)
            if snippet.expected is not None:
                _compare(snippet, printed)


def _printed(snippet: Snippet, namespace: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if snippet.language == "python":
            where = f"{snippet.page}:{snippet.line}"
            exec(compile(snippet.code, where, "exec"), namespace)
        else:
            program, *arguments = shlex.split(snippet.code)
            assert program == "arctic", f"{snippet.page}:{snippet.line}: only arctic can be run"
            with contextlib.suppress(SystemExit):
                run_command(arguments)
    return out.getvalue()


def _compare(snippet: Snippet, printed: str) -> None:
    want = snippet.expected or ""
    checker = doctest.OutputChecker()
    if not checker.check_output(want, printed, _FLAGS):
        example = doctest.Example(snippet.code, want)
        difference = checker.output_difference(example, printed, _FLAGS | doctest.REPORT_NDIFF)
        raise AssertionError(f"{snippet.page}:{snippet.line} prints something else\n{difference}")


@contextlib.contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    """Do what contextlib.chdir does from Python 3.11 on."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    run(snippets_of(Path(sys.argv[1])), Path.cwd())
