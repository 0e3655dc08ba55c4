"""Messages that the client hands one by one, as columns.

Few live as objects at a time, so Python need not look through all of its own for some that are
garbage; and what is asked of each is asked without a line of Python for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.kafka.messages import Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Messages, those of each partition in order."""

    values: pa.ChunkedArray
    """Bytes; null is a tombstone."""
    keys: pa.ChunkedArray
    partition: npt.NDArray[np.int64]
    """Of each, its number in ``partitions``."""
    offset: npt.NDArray[np.int64]
    partitions: tuple[Partition, ...]


def taken_together(messages: Sequence[Any], names: Mapping[str, str]) -> Taken:
    """Return some messages, one at least; ``names`` tells topics with their ids."""
    message = type(messages[0])
    count = len(messages)
    number = np.fromiter(map(message.partition, messages), np.int64, count)
    topic = pa.array(list(map(message.topic, messages)), pa.string()).dictionary_encode()
    several = int(number.max()) + 1
    found, partition = np.unique(topic.indices.to_numpy() * several + number, return_inverse=True)
    topics = [names[each] for each in topic.dictionary.to_pylist()]
    return Taken(
        values=pa.chunked_array([pa.array(list(map(message.value, messages)), pa.binary())]),
        keys=pa.chunked_array([pa.array(list(map(message.key, messages)), pa.binary())]),
        partition=partition,
        offset=np.fromiter(map(message.offset, messages), np.int64, count),
        partitions=tuple((topics[each // several], int(each % several)) for each in found),
    )


def joined(parts: Sequence[Taken]) -> Taken:
    """Return all messages of some parts, in order."""
    numbers: dict[Partition, int] = {}
    partition = [np.empty(0, np.int64)]
    for part in parts:
        known = [numbers.setdefault(each, len(numbers)) for each in part.partitions]
        partition.append(np.array(known, np.int64)[part.partition])
    return Taken(
        values=pa.chunked_array([c for part in parts for c in part.values.chunks], pa.binary()),
        keys=pa.chunked_array([c for part in parts for c in part.keys.chunks], pa.binary()),
        partition=np.concatenate(partition),
        offset=np.concatenate([np.empty(0, np.int64), *(part.offset for part in parts)]),
        partitions=tuple(numbers),
    )
