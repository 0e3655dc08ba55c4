"""The optimized sequence as a table property, for readers that know no Puffin file.

Source: amoro TablePropertyUtil @96a4d781a.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from arctic.errors import FormatError
from arctic.iceberg.metadata.optimized_state import OptimizedState
from arctic.iceberg.values.partition_key import PartitionKeys
from arctic.table.files import Partition
from arctic.table.property_names import LEGACY_OPTIMIZED_SEQUENCE

TIMES_LIMIT = 1_000
"""Partitions up to which the property tells times too: table metadata is read by every open."""
_SEQUENCE = "max-txId"
_TIME = "base-op-time"


def legacy_text(state: OptimizedState, keys: PartitionKeys) -> str:
    """Return the value of the property: every partition, and times where they are few."""
    entries = {}
    with_times = len(state.sequence) <= TIMES_LIMIT
    for partition, sequence in state.sequence.items():
        entry = {_SEQUENCE: str(sequence)}
        if with_times and partition in state.time_ms:
            entry[_TIME] = str(state.time_ms[partition])
        entries[keys.text(partition)] = entry
    return json.dumps(entries, sort_keys=True, separators=(",", ":"))


def legacy_state(properties: Mapping[str, str], keys: PartitionKeys) -> OptimizedState:
    """Return what the property says is merged; nothing without it.

    Raises:
        FormatError: a value that is not what it should be.
    """
    text = properties.get(LEGACY_OPTIMIZED_SEQUENCE)
    if text is None:
        return OptimizedState()
    try:
        entries = {keys.partition(key): entry for key, entry in json.loads(text).items()}
        return OptimizedState(
            sequence=_legacy_values(entries, _SEQUENCE),
            time_ms=_legacy_values(entries, _TIME),
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise FormatError(
            f"table {keys.table_name!r}: property {LEGACY_OPTIMIZED_SEQUENCE!r} is not readable: "
            f"{error}"
        ) from error


def _legacy_values(
    entries: Mapping[Partition, Mapping[str, str]], name: str
) -> Mapping[Partition, int]:
    return {key: int(entry[name]) for key, entry in entries.items() if name in entry}
