"""Where a Parquet writer writes to: data passes through, the footer is held until it is sealed."""

from __future__ import annotations

from typing import Any

from arctic.table.footer_checksum import sealed

_END_BYTES = 8
"""The length of the footer and the magic."""


class FooterSink:
    """A Python file around the one that is written; closing it is up to its owner."""

    def __init__(self, path: str, output: Any) -> None:
        self._path = path
        self._output = output
        self._at = 0
        self._footer: list[bytes] | None = None
        self.closed = False

    def write(self, data: Any) -> int:
        """Write, or hold what belongs to the footer."""
        size = memoryview(data).nbytes
        if self._footer is None:
            self._output.write(data)
        else:
            self._footer.append(bytes(data))
        self._at += size
        return size

    def tell(self) -> int:
        """Return how much was given to ``write``."""
        return self._at

    def flush(self) -> None:
        """Do nothing: the file below has a buffer of its own."""

    def close(self) -> None:
        """Do nothing: a writer may close what it did not open."""
        self.closed = True

    def hold_footer(self) -> None:
        """Hold what follows."""
        self._footer = []

    def write_footer(self) -> None:
        """Write what was held, the footer with its checksum."""
        assert self._footer is not None
        held = b"".join(self._footer)
        # Page indexes and bloom filters come first; the last bytes say where the footer begins.
        start = len(held) - _END_BYTES - int.from_bytes(held[-_END_BYTES:-4], "little")
        indexes, footer = held[:start], held[start:]
        self._output.write(indexes)
        begins = self._at - len(held)
        self._output.write(sealed(self._path, footer, indexes=indexes, start=begins))
        self._footer = None
