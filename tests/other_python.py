"""What a user's machine has: a Python without packages, and programs in folders of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def write_bare_python(folder: Path) -> Path:
    """Write a ``python3`` that is the one which this environment was made of; return its path."""
    script = folder / "python3"
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    # Isolated: what a user has installed for it does not count.
    script.write_text(f'#!/bin/sh\nexec "{base}" -s "$@"\n')
    script.chmod(0o755)
    return script


def printed(program: str, folder: Path) -> str:
    """Run a program in a folder, with the path of a warehouse there; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder / "lake")],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    return done.stdout
