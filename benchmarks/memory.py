"""Peak memory of a process and its children, with or without Spark's JVM."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

_PAUSE_SECONDS = 0.05
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class PeakMemory:
    """Samples resident memory while it is entered; Linux only.

    Args:
        root: the process whose tree is summed; None: this one.
        with_java: count a JVM too.
    """

    def __init__(self, root: int | None = None, *, with_java: bool = False) -> None:
        self._root = os.getpid() if root is None else root
        self._with_java = with_java
        self.total_bytes = 0
        """Greatest sum over all processes."""
        self.process_bytes = 0
        """Of the largest process."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def __str__(self) -> str:
        """Return both figures."""
        mib = 2**20
        return (
            f"{self.total_bytes / mib:,.0f} MiB of all Python processes, "
            f"{self.process_bytes / mib:,.0f} MiB of the largest"
        )

    def _watch(self) -> None:
        while not self._stop.wait(_PAUSE_SECONDS):
            sizes = _sizes(self._root, with_java=self._with_java)
            self.total_bytes = max(self.total_bytes, sum(sizes))
            self.process_bytes = max(self.process_bytes, max(sizes, default=0))


def peak_of(command: Sequence[str]) -> tuple[str, PeakMemory]:
    """Run a command in a process of its own; return what it prints, and its memory."""
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with running, PeakMemory(running.pid) as memory:
        said, _ = running.communicate()
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)
    return said, memory


def family_of(root: int) -> dict[int, str]:
    """Return the processes that a process has started, itself and theirs, with their names."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            before, _, after = (entry / "stat").read_text().rpartition(")")
        except OSError:
            continue
        parents[int(entry.name)] = int(after.split()[1])
        names[int(entry.name)] = before.partition("(")[2]
    ours = {root}
    grew = True
    while grew:
        more = {pid for pid, parent in parents.items() if parent in ours} - ours
        ours |= more
        grew = bool(more)
    return {pid: names.get(pid, "") for pid in ours}


def _sizes(root: int, *, with_java: bool) -> list[int]:
    sizes = []
    for pid, name in family_of(root).items():
        if with_java or not name.startswith("java"):
            try:
                pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            except (OSError, IndexError):
                continue
            sizes.append(pages * _PAGE_BYTES)
    return sizes
