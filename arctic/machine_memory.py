"""How much memory a process of this machine may take, and how much of it is one task's.

It is the least of three numbers: the memory of the machine, the limit of the container, the limit
that the system sets a process. Memory that others use is not measured: it says nothing about later.

Must not know: what memory is for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

with suppress(ImportError):  # Windows, which does not tell what there is either
    import resource

_TELLS: bool = hasattr(os, "sysconf")
_SHARE = 8
"""One part in so many is for what a caller holds at will; the rest is for what it must hold."""
_UNTOLD_BYTES = 4 * 2**30
_ROOT = Path("/")


def task_share_bytes(*, tasks: int, most_bytes: int, least_bytes: int) -> int:
    """Return what one of the tasks that run at once here may hold at will.

    Args:
        tasks: that run at once, wherever they do; those on this machine are at most its cores.
        most_bytes: more is never worth it.
        least_bytes: with less there is no getting on.
    """
    here = max(1, min(tasks, os.cpu_count() or 1))
    return max(least_bytes, min(most_bytes, memory_bytes() // (_SHARE * here)))


def memory_bytes(root: Path = _ROOT) -> int:
    """Return the most memory that this process may take.

    Args:
        root: where the system's own folders lie.
    """
    if not _TELLS:
        return _UNTOLD_BYTES
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS)]
    granted = [limit for limit in limits if limit != resource.RLIM_INFINITY]
    return min([machine, *granted, *_container_limits(root)])


def _container_limits(root: Path) -> Iterator[int]:
    """Yield the limits of the groups that this process is in, and of those above them."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            top, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            top, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        # In a container the path is often that of the machine, and only the top is there.
        folder = Path(path.lstrip("/"))
        for each in (folder, *folder.parents):
            text = _text(top / each / name).strip()
            if text.isdecimal():
                yield int(text)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
