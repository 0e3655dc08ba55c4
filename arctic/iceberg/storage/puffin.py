"""Puffin files of uncompressed blobs: magic, blobs, footer, as the Iceberg spec lays them out.

PyIceberg reads them and cannot write them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.table.puffin import MAGIC_BYTES

from arctic.iceberg.storage.checksum import CHECKSUM, UNKNOWN

_NO_FLAGS = bytes(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Puffin:
    """A Puffin file in memory."""

    content: bytes
    footer_bytes: int
    """Size of the footer, both magics included."""
    blobs: tuple[Mapping[str, Any], ...]
    """What a statistics entry may say of each blob."""


def puffin_file(
    payloads: Mapping[str, bytes],
    *,
    snapshot_id: int,
    sequence_number: int,
    fields: Sequence[int] = (),
    properties: Mapping[str, str] | None = None,
) -> Puffin:
    """Return a file with one blob for each type.

    Args:
        payloads: by blob type.
        snapshot_id: the snapshot that every blob was made for.
        sequence_number: of that snapshot.
        fields: ids of the columns that every blob is about.
        properties: of every blob.
    """
    content, blobs, listed = bytearray(MAGIC_BYTES), [], []
    for blob_type, payload in payloads.items():
        blob = {
            "type": blob_type,
            "fields": list(fields),
            "snapshot-id": snapshot_id,
            "sequence-number": sequence_number,
            **({} if properties is None else {"properties": dict(properties)}),
        }
        listed.append(blob)
        blobs.append({**blob, "offset": len(content), "length": len(payload)})
        content += payload
    # The last property: the checksum is looked for at the end of the footer.
    own = {"created-by": "arctic", CHECKSUM: UNKNOWN}
    footer = json.dumps({"blobs": blobs, "properties": own}).encode()
    tail = MAGIC_BYTES + footer + struct.pack("<i", len(footer)) + _NO_FLAGS + MAGIC_BYTES
    return Puffin(content=bytes(content + tail), footer_bytes=len(tail), blobs=tuple(listed))
