"""Texts that are ASCII throughout, seen without looking at them one by one.

Rules:
    - It never says yes to an array that Arrow's full validation refuses.

Must not know: tables.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from arctic.columns.buffers import value_bytes, value_offsets


def is_plain_text(array: pa.Array) -> bool:
    """Say whether an array is of texts, sound and all ASCII; False says nothing.

    Validating each text as UTF-8 takes ten times as long as the greatest byte of them all, and
    offsets that rise inside the buffer cut ASCII nowhere but between characters.
    """
    if not pt.is_string(array.type) or not len(array):
        return False
    array.validate()
    offsets, data = value_offsets(array), value_bytes(array)
    start, end = int(offsets[0]), int(offsets[-1])
    if not (0 <= start <= end <= len(data)):
        return False
    if (offsets[1:] < offsets[:-1]).any():
        return False
    texts = data[start:end]
    return not texts.size or int(texts.max()) < 0x80
