"""Keys in parts that fit into memory: what a task holds is read once for each part.

Rules:
    - All rows of a key are in one part, and the parts follow the key's hash above the bits that
      choose a node: the keys of a node are in all of them.

Must not know: what becomes of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arctic.mor.request import ReadRequest
from arctic.table.files import TableFile
from arctic.tree.hash_arrays import hash_arrays

HELD_BYTES = 128 * 2**20
"""Bytes on disk of the files whose rows are held at a time."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HIGH_BITS = np.uint64(32)


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One part of all keys."""

    number: int
    count: int

    def of(self, batch: pa.RecordBatch, request: ReadRequest) -> pa.RecordBatch:
        """Return the rows of a batch whose keys are in this part."""
        mask = self.mask(batch, request)
        return batch if mask is None else batch.filter(pa.array(mask))

    def mask(self, batch: pa.RecordBatch, request: ReadRequest) -> npt.NDArray[np.bool_] | None:
        """Say which of these rows they are; None: all."""
        if self.count == 1 or not len(batch):
            return None
        columns = [batch.column(name) for name in request.key.names]
        hashes = hash_arrays(columns, request.key_types).astype(np.uint64)
        spread = (hashes * _SPREAD) >> _HIGH_BITS
        mask: npt.NDArray[np.bool_] = spread % np.uint64(self.count) == self.number
        return mask


def key_parts(files: Iterable[TableFile], *, held_bytes: int = HELD_BYTES) -> Iterator[KeyPart]:
    """Yield the parts of keys so that the rows of these files fit, one part at a time."""
    size_bytes = sum(file.size_bytes for file in files)
    count = max(1, -(-size_bytes // held_bytes))
    for number in range(count):
        yield KeyPart(number, count)
