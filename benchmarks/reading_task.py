"""Reads the heaviest task of a table in a process of its own, and prints its peak memory in MiB.

Usage: python -m benchmarks.reading_task WAREHOUSE TABLE
"""

from __future__ import annotations

import sys
from pathlib import Path

from arctic.job.read.asked_read import AskedRead
from arctic.job.read.scan_job import begin_scan


def main(warehouse: str, table: str) -> None:
    """Print the peak resident memory, and what it was before the task began."""
    job = begin_scan(AskedRead.of({"path": table, "warehouse": warehouse}))
    idle = _peak_mib()
    rows = sum(batch.num_rows for batch in job.reader.read(max(job.groups, key=_cost)))
    peak = _peak_mib()
    print(f"{peak:.0f} MiB, of which {idle:.0f} before its first row ({rows:,} rows)")


def _cost(group: object) -> int:
    return int(getattr(group, "cost_bytes", 0))


def _peak_mib() -> float:
    # Not getrusage: that counts what the parent had in memory when it started this process.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
