"""Where a Parquet writer writes to: data passes through, the footer is held until it is sealed."""

from __future__ import annotations

from typing import Any

from arctic.table.footer_checksum import sealed


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
        """Write what was held, with its checksum."""
        assert self._footer is not None
        self._output.write(sealed(self._path, b"".join(self._footer)))
        self._footer = None
