"""Messages of Kafka as columns, whatever bytes they are; texts from here on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.kafka.avro_rows import AvroRows

Partition = tuple[str, int]
"""Topic with its id, as ``topic:id``, and number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """Messages of some partitions; those of each are in order."""

    values: pa.ChunkedArray
    """Texts; null is a tombstone, where it is not packed."""
    keys: pa.ChunkedArray
    topics: pa.Array
    shapes: pa.DictionaryArray | None
    """What describes the columns of each, as Connect does; None: nothing does."""
    packed: AvroRows | None
    """Those that are no texts, but columns already; None: there are none."""
    partition: npt.NDArray[np.int64]
    """Of each, its number in ``partitions``."""
    offset: npt.NDArray[np.int64]
    partitions: tuple[Partition, ...]

    def after(self) -> dict[Partition, int]:
        """Return the offset that follows the last message of each partition."""
        last = np.full(len(self.partitions), -1, np.int64)
        np.maximum.at(last, self.partition, self.offset)
        return {each: int(place) + 1 for each, place in zip(self.partitions, last, strict=True)}


def texts_of(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return bytes as texts; those that are no text become one that is no JSON."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        chunks = [_texts(chunk) for chunk in values.chunks]
        return pa.chunked_array(chunks, pa.string())


def _texts(values: pa.Array) -> pa.Array:
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([_text(value) for value in values.to_pylist()], pa.string())


def _text(value: bytes | None) -> str | None:
    """Return a text that is no JSON for bytes that are no text."""
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"no UTF-8, hexadecimal: {value.hex()}"
