"""A field that is null is told from one that is not there."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

from arctic.cdc.rows.json_documents import documents
from arctic.cdc.rows.json_mentions import mention_all


@dataclass(frozen=True)
class Case:
    """Messages of which none, some or all leave a field out."""

    id: str
    messages: tuple[str, ...]
    names: tuple[str, ...]
    expected: bool


OTHER = '{"a":"x","b":4}'
CASES = [
    Case("no null", ('{"a":1,"b":2}', '{"a":3,"b":4}'), ("a", "b"), True),
    Case("null", ('{"a":1,"b":null}', '{"b":4,"a":3}'), ("a", "b"), True),
    Case("a space behind the colon", ('{"a":"x","b": null}', OTHER), ("b",), True),
    Case("absent", ('{"a":"x"}', OTHER), ("a", "b"), False),
    Case("absent, but not asked for", ('{"a":"x"}', OTHER), ("a",), True),
    Case("absent, and named in a text", (r'{"a":"\"b\":"}', OTHER), ("b",), False),
    Case("absent, and a text", ('{"a":"b"}', OTHER), ("b",), False),
    Case("absent, and the end of a name", (r'{"x\"b":2}', r'{"x\"b":2,"b":4}'), ("b",), False),
    Case("a space before the colon", ('{"a":"x","b" :null}', OTHER), ("b",), False),
    Case("written otherwise", (r'{"a":"x","\u0062":null}', OTHER), ("b",), False),
    Case("a name of marks", ('{"a":"x",":":1}', '{"a":"x",",":2,":":1}'), (",",), False),
    Case("in rows", ('{"r":{"a":null},"s":{"a":1}}', '{"r":null,"s":{"a":2}}'), ("a",), True),
    Case("absent in a row", ('{"r":{"a":null},"s":{"c":1}}', '{"s":{"a":2}}'), ("a",), False),
    Case("in lists", ('{"a":null,"l":[{"a":1}]}', '{"a":2,"l":[]}'), ("a",), False),
    Case("of all, but in a list", ('{"a":null,"l":[]}', '{"a":2,"l":[]}'), ("a",), False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_fields_are_mentioned_or_not(case: Case) -> None:
    """What is not certain is no; other messages of the same array are not looked at."""
    messages = pa.array(["{}", *case.messages, '{"b":1}'])[1:-1]

    assert mention_all(documents(messages, None), messages, case.names) is case.expected
