"""Windows of event time: spans of equal length, one after another, on the whole since 1970.

Rules:
    - A window holds its first moment and not its last: that is the first of the next one.
    - It is complete once the watermark is at its end: no writer brings earlier rows any more.

Must not know: tables, clocks.
"""

from __future__ import annotations

from collections.abc import Iterator


def window_begin(ms: int, length_ms: int) -> int:
    """Return the first moment of the window that a moment is in.

    >>> window_begin(25, 10), window_begin(30, 10), window_begin(-1, 10)
    (20, 30, -10)
    """
    return ms - ms % length_ms


def complete_windows(begin_ms: int, watermark_ms: int, length_ms: int) -> Iterator[int]:
    """Yield the first moment of each window from one on that is complete.

    >>> list(complete_windows(20, 45, 10))
    [20, 30]
    """
    while begin_ms + length_ms <= watermark_ms:
        yield begin_ms
        begin_ms += length_ms
