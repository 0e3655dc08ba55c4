"""Try which versions work together: ``make matrix``; --write-docs writes the page.

Each cell is an environment of its own, with the package as users install it, in which a small
program uses every verb. The environments share pip's cache, and each is removed after its turn.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.matrix.cells import SHOWN, Cell, cells, read_project

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "compatibility.md"
BEGIN, END = "<!-- versions: make matrix -->", "<!-- end of versions -->"
SMOKE = Path(__file__).with_name("smoke.py")
PATIENCE_SECONDS = 900
NOT_HERE, WORKS = "not here", "works"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a cell."""

    cell: Cell
    said: str
    versions: Mapping[str, str]
    """Of what was installed, by name; nothing where that failed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or write it into the page; 1 where a cell does not work."""
    parser = argparse.ArgumentParser(prog="make matrix", description=__doc__)
    parser.add_argument("--write-docs", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("only", nargs="*", help="cells whose words begin so; all")
    given = parser.parse_args(arguments)
    project = read_project()
    wanted = [
        cell
        for cell in cells(project["dependencies"])
        if not given.only or cell.about.startswith(tuple(given.only))
    ]
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="arctic-matrix-") as folder:
        wheel = _wheel(Path(folder))
        for cell in wanted:
            began = time.monotonic()
            outcomes.append(_tried(cell, wheel, Path(folder)))
            took = time.monotonic() - began
            print(f"{cell.about}: {outcomes[-1].said} ({took:.0f} s)", file=sys.stderr, flush=True)
    text = table(outcomes, datetime.datetime.now(tz=datetime.timezone.utc).date())
    print(text)
    if given.write_docs:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
    return 0 if all(each.said in (WORKS, NOT_HERE) for each in outcomes) else 1


def table(outcomes: Sequence[Outcome], day: datetime.date) -> str:
    """Return the outcomes as a table of a page, with the day."""
    lines = [f"Tried on {day}.", "", f"| cell | Python | {' | '.join(SHOWN)} | |"]
    lines.append(f"|---|---|{'---|' * len(SHOWN)}---|")
    for each in outcomes:
        shown = [each.versions.get(name, "") for name in SHOWN]
        python = each.versions.get("python", each.cell.python)
        lines.append(f"| {each.cell.about} | {python} | {' | '.join(shown)} | {each.said} |")
    return "\n".join(lines)


def interpreter(version: str) -> str | None:
    """Return a Python of this version, on the PATH or among those of pyenv; None: there is none."""
    name = f"python{version}"
    home = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [*os.environ.get("PATH", "").split(os.pathsep)]
    folders += sorted(map(str, home.glob(f"versions/{version}*/bin")), reverse=True)
    check = f"import sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != {version!r})"
    for folder in folders:
        found = shutil.which(name, path=folder)
        # A launcher may be there for a version that is not.
        if found and not subprocess.run([found, "-c", check], capture_output=True).returncode:
            return found
    return None


def _wheel(folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
    subprocess.run([*pip, str(ROOT)], check=True, stdout=sys.stderr)
    [wheel] = folder.glob("*.whl")
    return wheel


def _tried(cell: Cell, wheel: Path, folder: Path) -> Outcome:
    base = interpreter(cell.python)
    if base is None:
        return Outcome(cell=cell, said=NOT_HERE, versions={})
    home = folder / "cell"
    python = str(home / "venv" / "bin" / "python")
    try:
        _run(base, "-m", "venv", str(home / "venv"))
        pandas = [cell.pandas] if cell.pandas else []
        quiet = ("--quiet", "--no-input", "--disable-pip-version-check")
        done = _run(python, "-m", "pip", "install", *quiet, str(wheel), *cell.pins, *pandas)
        if done.returncode:
            return Outcome(cell=cell, said=f"is not installed: {_reason(done)}", versions={})
        (home / "work").mkdir()
        done = _run(python, str(SMOKE), str(home / "work"), home=home)
        if done.returncode:
            return Outcome(cell=cell, said=f"fails: {_reason(done)}", versions={})
        versions = json.loads(done.stdout.splitlines()[-1])
        return Outcome(cell=cell, said=WORKS, versions=versions)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _run(*command: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    # Nothing of the environment that runs this is to be seen in the one that is tried.
    variables = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("PYTHON", "PYSPARK", "SPARK", "ARCTIC", "VIRTUAL_ENV"))
    }
    if home is not None:
        variables["XDG_CACHE_HOME"] = str(home / "cache")
    return subprocess.run(
        command,
        cwd=home,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last line that says something, as text of a table; the whole goes to stderr."""
    print(done.stdout[-2_000:], done.stderr[-6_000:], sep="\n", file=sys.stderr)
    lines = [line for line in done.stderr.splitlines() if re.search(r"\w", line)]
    return (lines[-1] if lines else f"exit {done.returncode}").replace("|", "\\|")[:200]


if __name__ == "__main__":
    sys.exit(main())
