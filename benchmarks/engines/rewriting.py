"""Another process compacts a table by ``rewrite_data_files``, in Iceberg's Spark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any

from benchmarks.peers.environments import PEERS, ROOT, interpreter


def rewrite(
    place: str,
    *,
    sort_order: str | None = None,
    target_bytes: int = 512 * 2**20,
    limit: float | None = None,
) -> dict[str, Any]:
    """Rewrite every data file of a table.

    Args:
        place: its metadata file. What is committed is for Iceberg's catalog of folders alone.
        sort_order: in Iceberg's words, as ``zorder(a, b)``; None: files are packed as they are.
        target_bytes: of a file, with a sort order.
        limit: seconds after which Spark is stopped.

    Returns:
        ``seconds``, without Spark's start, ``rows``, and ``metadata``, the new metadata file; or
        ``ended``: how Spark ended without them.

    Raises:
        subprocess.CalledProcessError: it failed, and was given no limit.
    """
    python = interpreter(next(peer for peer in PEERS if peer.name == "iceberg-eq"))
    command = [str(python), "-m", "benchmarks.engines.rewriter", place]
    if sort_order is not None:
        command += [sort_order, str(target_bytes)]
    # Spark's Java is a child of a child, and is stopped with it.
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        try:
            said, _ = running.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            return {"ended": f"stopped after {limit:,.0f} seconds"}
    if running.returncode and limit is None:
        raise subprocess.CalledProcessError(running.returncode, command)
    if running.returncode:
        return {"ended": f"failed with {running.returncode}, see above"}
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    return found
