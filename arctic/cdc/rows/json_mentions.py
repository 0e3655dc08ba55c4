"""Whether a field that is null in parsed messages stands in their text: a parser does not tell.

Strategy: count. In a valid document a name between quotes with a colon behind them is a field, for
quotes in texts have a backslash before them; that holds where no name has a quote itself. An object
has a field at most once. So where the text has the name as often as there are objects that may have
it, each of them has it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

import pyarrow as pa
import pyarrow.types as pt

from arctic.columns.buffers import value_bytes, value_offsets

# It begins as nothing does that may stand between two texts.
_PLAIN = re.compile(r'[A-Za-z_][^"\\]*')


def mention_all(found: pa.Table, messages: pa.Array, names: Collection[str]) -> bool:
    """Say whether all messages certainly mention all fields of some names.

    Args:
        found: the messages, parsed with all of their fields, each once.
        messages: their texts.
        names: of fields, wherever they are.
    """
    objects: Counter[str] = Counter()
    null: set[str] = set()
    has_lists = False
    waiting = [(column, name, len(messages)) for name, column in _columns(found)]
    while waiting:
        array, name, count = waiting.pop()
        objects[name] += count
        if array.null_count > len(array) - count:
            null.add(name)
        has_lists = has_lists or pt.is_list(array.type)
        if pt.is_struct(array.type):
            within = len(array) - array.null_count
            children = zip(array.flatten(), array.type.names, strict=True)
            waiting += [(child, each, within) for child, each in children]
    doubtful = null.intersection(names)
    if not doubtful:
        return True
    if has_lists or not all(map(_PLAIN.fullmatch, objects)):
        return False
    text = _text_of(messages)
    return all(text.count(f'"{name}":'.encode()) == objects[name] for name in doubtful)


def _columns(found: pa.Table) -> list[tuple[str, pa.Array]]:
    pairs = zip(found.column_names, found.columns, strict=True)
    return [(name, column.combine_chunks()) for name, column in pairs]


def _text_of(messages: pa.Array) -> bytes:
    """Return all texts, one after the other."""
    offsets = value_offsets(messages)
    return value_bytes(messages)[offsets[0] : offsets[-1]].tobytes()
