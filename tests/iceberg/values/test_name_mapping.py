"""Name mappings: which fields files without ids have, and how that follows the columns."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import ListType, LongType, MapType, NestedField, StringType, StructType

from arctic.errors import InvalidInputError
from arctic.iceberg.values.name_mapping import followed_mapping, mapped_ids

SPOT = StructType(NestedField(6, "x", LongType()))
PLACE = StructType(
    NestedField(3, "city", StringType(), required=False),
    NestedField(4, "spots", ListType(5, SPOT), required=False),
    NestedField(7, "tags", MapType(8, StringType(), 9, LongType()), required=False),
)
COLUMNS = (
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "place", PLACE, required=False),
)
BEFORE = Schema(*COLUMNS)
TEXT = BEFORE.name_mapping.model_dump_json()


def mapped(*fields: dict[str, Any]) -> str:
    """Return a name mapping of these columns."""
    return json.dumps(fields)


def named(column: NestedField, name: str) -> NestedField:
    """Return a column under another name."""
    return column.model_copy(update={"name": name})


def ids(text: str) -> dict[str, int]:
    """Return the fields of a mapping by their names, joined."""
    return {".".join(path): number for path, number in mapped_ids(text).items()}


def test_fields_are_found_at_every_depth_under_all_their_names() -> None:
    """Also those within lists and maps; a name without an id is no field."""
    assert ids(TEXT) == {
        "id": 1, "place": 2, "place.city": 3, "place.spots": 4, "place.spots.element": 5,
        "place.spots.element.x": 6, "place.tags": 7, "place.tags.key": 8, "place.tags.value": 9,
    }  # fmt: skip
    child = {"field-id": 2, "names": ["a", "b"], "fields": None}
    aliases = mapped({"field-id": 1, "names": ["s", "t"], "fields": [child]}, {"names": ["x"]})
    assert mapped_ids(aliases) == {
        ("s",): 1, ("t",): 1, ("s", "a"): 2, ("s", "b"): 2, ("t", "a"): 2, ("t", "b"): 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected a name mapping of Iceberg's"),
        ('[{"field-id": 1}]', "expected a name mapping of Iceberg's"),
        (
            mapped({"field-id": 1, "names": ["a", "b"]}, {"field-id": 2, "names": ["b"]}),
            "name 'b' is that of fields 1 and 2",
        ),
    ],
)
def test_a_mapping_that_does_not_tell_fields_apart_is_refused(text: str, message: str) -> None:
    """Whichever of two were taken, the other's values would be lost."""
    with pytest.raises(InvalidInputError, match=message):
        mapped_ids(text)


def test_a_column_keeps_all_its_names_and_new_ones_come_with_their_fields() -> None:
    """Renamed, renamed back, renamed again; dropped ones stay, since files have them."""
    note = NestedField(10, "note", StructType(NestedField(11, "by", StringType())), required=False)
    renamed = Schema(named(COLUMNS[0], "number"), COLUMNS[1], note)

    text = followed_mapping("t", TEXT, BEFORE, renamed)
    assert ids(text) == {**ids(TEXT), "number": 1, "note": 10, "note.by": 11}
    for name in ("id", "key", "number"):
        after = Schema(named(COLUMNS[0], name), note)
        text = followed_mapping("t", text, renamed, after)
        renamed = after

    assert ids(text) == {**ids(TEXT), "number": 1, "key": 1, "note": 10, "note.by": 11}
    assert followed_mapping("t", TEXT, BEFORE, Schema(*reversed(COLUMNS))) == TEXT


@pytest.mark.parametrize(
    "after",
    [
        (COLUMNS[1], NestedField(10, "id", LongType(), required=False)),
        (named(COLUMNS[0], "old"), COLUMNS[1], NestedField(10, "id", StringType())),
        (named(COLUMNS[0], "place"), named(COLUMNS[1], "id")),
        (named(COLUMNS[1], "id"),),
    ],
    ids=["added again", "added beside", "swapped", "taken over"],
)
def test_a_name_that_would_go_over_to_another_column_is_refused(
    after: tuple[NestedField, ...],
) -> None:
    """Older files would have their values read for it."""
    with pytest.raises(InvalidInputError, match=r"t: no other column can be called '(id|place)'"):
        followed_mapping("t", TEXT, BEFORE, Schema(*after))
