"""How much memory there is, told by folders laid out as the system lays them out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from arctic.machine_memory import memory_bytes, task_share_bytes

MIB = 2**20
WHOLE = memory_bytes(Path("/nowhere"))


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        pytest.param("0::/\n", {}, WHOLE, id="no limit"),
        pytest.param("0::/a/b\n", {"a/b/memory.max": "max"}, WHOLE, id="said to be none"),
        pytest.param("0::/a/b\n", {"a/b/memory.max": f"{MIB}"}, MIB, id="of the group"),
        pytest.param(
            "0::/a/b\n", {"a/b/memory.max": "max", "a/memory.max": f"{MIB}"}, MIB, id="one above"
        ),
        pytest.param("0::/a/b\n", {"memory.max": f"{MIB}"}, MIB, id="its path is the machine's"),
        pytest.param(
            "5:cpu:/c\n4:cpu,memory:/a\n",
            {"memory/a/memory.limit_in_bytes": f"{MIB}"},
            MIB,
            id="version 1",
        ),
        pytest.param("0::/\n", {"memory.max": f"{2**62}"}, WHOLE, id="more than there is"),
    ],
)
def test_the_least_limit_counts(
    tmp_path: Path, groups: str, limits: dict[str, str], expected: int
) -> None:
    """Of this group and those above it, in both versions of groups."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(groups)
    for name, text in limits.items():
        path = tmp_path / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")

    assert memory_bytes(tmp_path) == expected


@pytest.mark.skipif(sys.platform == "win32", reason="nothing tells how much there is")
def test_what_the_system_grants_a_process_counts() -> None:
    """As ``ulimit`` sets it, and Spark for its workers; cores beyond the tasks do not."""
    code = f"""
import os, resource
resource.setrlimit(resource.RLIMIT_DATA, ({512 * MIB}, {512 * MIB}))
os.cpu_count = lambda: 4
from arctic.machine_memory import task_share_bytes
for tasks in (1, 2, 4, 100):
    print(task_share_bytes(tasks=tasks, most_bytes={60 * MIB}, least_bytes=1) // {MIB})
print(task_share_bytes(tasks=4, most_bytes={60 * MIB}, least_bytes={20 * MIB}) // {MIB})
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["60", "32", "16", "16", "20"]


def test_a_share_is_between_its_bounds() -> None:
    """Whatever the machine has."""
    assert task_share_bytes(tasks=10**6, most_bytes=3, least_bytes=2) == 3
