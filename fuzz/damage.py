"""What can happen to the bytes of a file."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

Bytes = Callable[[bytes, random.Random], bytes]


def _bits(content: bytes, draw: random.Random) -> bytes:
    """Flip one bit, or a few."""
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 8))):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _overwritten(content: bytes, draw: random.Random) -> bytes:
    """Put other bytes over some."""
    start, length = _range(content, draw)
    return content[:start] + draw.randbytes(length) + content[start + length :]


def _zeroed(content: bytes, draw: random.Random) -> bytes:
    """Lose a block, as disks do."""
    start, length = _range(content, draw)
    return content[:start] + bytes(length) + content[start + length :]


def _moved(content: bytes, draw: random.Random) -> bytes:
    """Put bytes of the file itself over others."""
    start, length = _range(content, draw)
    source = draw.randrange(len(content) - length + 1)
    return content[:start] + content[source : source + length] + content[start + length :]


def _cut(content: bytes, draw: random.Random) -> bytes:
    """End early, most often near the end."""
    left = draw.choice((0, draw.randrange(len(content)), len(content) - draw.randint(1, 32)))
    return content[: max(0, left)]


def _longer(content: bytes, draw: random.Random) -> bytes:
    """Go on after the end."""
    extra = draw.choice((1, 4, 100, 4096))
    return content + draw.choice((bytes(extra), draw.randbytes(extra), content[-extra:]))


DAMAGES: Sequence[tuple[str, Bytes]] = (
    ("bits", _bits),
    ("overwritten", _overwritten),
    ("zeroed", _zeroed),
    ("moved", _moved),
    ("cut", _cut),
    ("longer", _longer),
)
SWAP = "swap"


def _range(content: bytes, draw: random.Random) -> tuple[int, int]:
    length = min(len(content), draw.choice((1, 4, 16, 64, 512, 4096)))
    return draw.randrange(len(content) - length + 1), length
