"""The hash of Parquet's bloom filters, of one value at a time: a filter asks for few.

Source: the specification of XXH64, with seed 0.
"""

from __future__ import annotations

_MASK = 2**64 - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_STRIPE, _LANE = 32, 8


def xxhash64(data: bytes) -> int:
    """Return the hash of some bytes, unsigned.

    >>> hex(xxhash64(b"")), hex(xxhash64(b"abc"))
    ('0xef46db3751d8e999', '0x44bc2cf5ad770999')
    """
    at, size = 0, len(data)
    if size >= _STRIPE:
        lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        while at + _STRIPE <= size:
            for number in range(4):
                lanes[number] = _round(lanes[number], _word(data, at, _LANE))
                at += _LANE
        value = sum(_turned(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            value = ((value ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        value = _P5
    value = (value + size) & _MASK
    while at + _LANE <= size:
        value = (_turned(value ^ _round(0, _word(data, at, _LANE)), 27) * _P1 + _P4) & _MASK
        at += _LANE
    if at + 4 <= size:
        value = (_turned(value ^ (_word(data, at, 4) * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        value = _turned(value ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    value = (value ^ value >> 33) * _P2 & _MASK
    value = (value ^ value >> 29) * _P3 & _MASK
    return value ^ value >> 32


def _word(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _round(value: int, word: int) -> int:
    return _turned((value + word * _P2) & _MASK, 31) * _P1 & _MASK


def _turned(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK
