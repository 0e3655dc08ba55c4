"""A data file that is being written, and kept on this machine once it is complete.

What was written last is what is asked for first. Only small files are kept so: those of changes.

Memory: ``MOST_BYTES`` of each file that is being written.
"""

from __future__ import annotations

from typing import Any

from arctic.iceberg.storage.cache.block import Blocks, blocks_in

MOST_BYTES = 4 * 2**20
"""A longer file is not kept before it is read."""


class WrittenThrough:
    """A stream around the one that writes the file."""

    def __init__(self, output: Any, key: bytes, blocks: Blocks) -> None:
        self._output, self._key, self._blocks = output, key, blocks
        self._parts: list[bytes] | None = []
        self._length = 0

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return bool(self._output.closed)

    def write(self, data: Any) -> int:
        """Write bytes."""
        size = memoryview(data).nbytes
        self._output.write(data)
        self._length += size
        if self._length > MOST_BYTES:
            self._parts = None
        elif self._parts is not None:
            self._parts.append(bytes(data))
        return size

    def tell(self) -> int:
        """Return how much was written."""
        return int(self._output.tell())

    def flush(self) -> None:
        """Write out what the stream below holds."""
        self._output.flush()

    def close(self) -> None:
        """Complete the file; keep it if that succeeds."""
        was_closed = self.closed
        self._output.close()
        if self._parts and not was_closed:
            content = b"".join(self._parts)
            self._blocks.put(self._key, blocks_in(content, 0, len(content)))
        self._parts = None
