"""Columns of files as they were asked for: by id, exactly, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from arctic.errors import FormatError, InternalError
from arctic.mor.files.project import converter
from arctic.mor.request import ReadRequest
from arctic.table.files import FileKind
from tests.factories.tables import field
from tests.mor.local_files import ID, KEY, TABLE, LocalFiles, group, request, task


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    """A folder for the files of one test."""
    return LocalFiles(tmp_path)


def struct(*children: pa.Field) -> pa.DataType:
    """Return a struct type."""
    return pa.struct(list(children))


def read_as(files: LocalFiles, stored: pa.Table, wanted: pa.Schema, **more: Any) -> list[Any]:
    """Write columns, and read them as a schema."""
    file = files.write(FileKind.BASE, stored, row_group_size=2)
    return files.read(group(task(file)), request(wanted, batch_rows=100, **more))


@dataclass(frozen=True)
class Widening:
    """A value in a file's type, and in the type that is asked for."""

    id: str
    stored: pa.Array
    target: pa.DataType
    expected: Sequence[Any]


NOON = datetime(2026, 1, 2, 12, tzinfo=timezone.utc)
WIDENINGS = [
    Widening("int to long", pa.array([1, None, -5], pa.int32()), pa.int64(), [1, None, -5]),
    Widening("byte to int", pa.array([1, -128], pa.int8()), pa.int32(), [1, -128]),
    Widening("unsigned", pa.array([2**32 - 1], pa.uint32()), pa.int64(), [2**32 - 1]),
    Widening("float to double", pa.array([1.5, None], pa.float32()), pa.float64(), [1.5, None]),
    Widening(
        "wider decimal",
        pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
        pa.decimal128(38, 2),
        [Decimal("1.50"), None],
    ),
    Widening("large string", pa.array(["a", None], pa.large_string()), pa.string(), ["a", None]),
    Widening("string view", pa.array(["a", None], pa.string_view()), pa.string(), ["a", None]),
    Widening("large binary", pa.array([b"a"], pa.large_binary()), pa.binary(), [b"a"]),
    Widening("fixed as binary", pa.array([b"ab"], pa.binary(2)), pa.binary(), [b"ab"]),
    Widening("binary as fixed", pa.array([b"ab"], pa.binary()), pa.binary(2), [b"ab"]),
    Widening("unmarked string", pa.array([b"\xc3\xa4"], pa.binary()), pa.string(), ["ä"]),
    Widening(
        "dictionary", pa.array(["a", None, "a"]).dictionary_encode(), pa.string(), ["a", None, "a"]
    ),
    Widening(
        "dictionary of ints",
        pa.array([3, None], pa.int32()).dictionary_encode(),
        pa.int64(),
        [3, None],
    ),
    Widening("date64", pa.array([date(2026, 1, 2)], pa.date64()), pa.date32(), [date(2026, 1, 2)]),
    Widening("time32", pa.array([time(1)], pa.time32("ms")), pa.time64("us"), [time(1)]),
    Widening(
        "exact nanoseconds",
        pa.array([NOON, None], pa.timestamp("ns", "UTC")),
        pa.timestamp("us", "UTC"),
        [NOON, None],
    ),
    Widening(
        "another zone",
        pa.array([NOON], pa.timestamp("ms", "Europe/Paris")),
        pa.timestamp("us", "UTC"),
        [NOON],
    ),
    Widening("all null", pa.nulls(2), pa.list_(pa.string()), [None, None]),
    Widening("large list", pa.array([[1], None, []], pa.large_list(pa.int8())),
             pa.list_(pa.int32()), [[1], None, []]),
    Widening("fixed list", pa.array([[1, 2], None], pa.list_(pa.int32(), 2)),
             pa.list_(pa.int64()), [[1, 2], None]),
    Widening("uuid", pa.array([bytes(16)], pa.uuid()), pa.binary(16), [bytes(16)]),
]  # fmt: skip


@pytest.mark.parametrize("case", WIDENINGS, ids=lambda case: case.id)
@pytest.mark.parametrize("keeps_arrow_schema", [True, False])
def test_a_value_is_widened_without_change(
    files: LocalFiles, case: Widening, *, keeps_arrow_schema: bool
) -> None:
    """Whether or not the file still says which Arrow type it was written from."""
    stored = pa.table([case.stored], schema=pa.schema([field("old", case.stored.type, 5)]))
    file = files.write(FileKind.BASE, stored, store_schema=keeps_arrow_schema)
    wanted = pa.schema([field("new", case.target, 5)])
    found = files.read(group(task(file)), request(wanted))
    assert found == [{"new": value} for value in case.expected]


@pytest.mark.parametrize(
    ("stored", "target", "message"),
    [
        (pa.array([1], pa.int64()), pa.int32(), "type int64 cannot be read as int32"),
        (pa.array([1], pa.uint64()), pa.int64(), "type uint64 cannot be read as int64"),
        (pa.array([1], pa.int32()), pa.float64(), "cannot be read as double"),
        (pa.array([1.0]), pa.float32(), "type double cannot be read as float"),
        (pa.array(["1"]), pa.int64(), "type string cannot be read"),
        (pa.array([1]), pa.string(), "type int64 cannot be read"),
        (pa.array([Decimal("1.5")]), pa.decimal128(9, 2), "cannot be read as decimal128"),
        (pa.array([Decimal("1.55")], pa.decimal128(9, 2)), pa.decimal128(8, 2), "cannot be read"),
        (pa.array([NOON]), pa.timestamp("us"), "cannot be read as timestamp"),
        (pa.array([1], pa.timestamp("us")), pa.timestamp("us", "UTC"), "cannot be read as"),
        (pa.array([1], pa.timestamp("ns")), pa.timestamp("us"), "would lose data"),
        (pa.array([b"\xff"]), pa.string(), "Invalid UTF8"),
        (pa.array([b"abc"]), pa.binary(2), "widths must match"),
        (pa.array([[1]]), pa.int64(), "cannot be read as int64"),
        (pa.array([1]), pa.list_(pa.int64()), "cannot be read as list"),
        (pa.array([{"a": 1}]), pa.map_(pa.string(), pa.int64()), "cannot be read as map"),
    ],
)
def test_a_type_that_would_change_values_is_refused(
    files: LocalFiles, stored: pa.Array, target: pa.DataType, message: str
) -> None:
    """Naming the file and the column."""
    table = pa.table([stored], schema=pa.schema([field("old", stored.type, 5)]))
    with pytest.raises(FormatError, match=message) as caught:
        read_as(files, table, pa.schema([field("new", target, 5)]))
    assert "BASE" not in caught.value.message
    assert "B.parquet', column 'new'" in caught.value.message


def test_columns_are_renamed_reordered_added_and_dropped(files: LocalFiles) -> None:
    """The id is the column; its name and place are not."""
    stored = pa.table(
        [[1, 2], ["x", "y"], ["gone", "gone"]],
        schema=pa.schema([ID, field("a", pa.string(), 2), field("b", pa.string(), 3)]),
    )
    wanted = pa.schema([field("b", pa.string(), 2), field("c", pa.string(), 9), ID])
    assert read_as(files, stored, wanted) == [
        {"b": "x", "c": None, "id": 1},
        {"b": "y", "c": None, "id": 2},
    ]


def test_a_name_that_came_back_is_another_column(files: LocalFiles) -> None:
    """A dropped and added column of the same name and type holds nothing of the old one."""
    stored = pa.table([["old"]], schema=pa.schema([field("a", pa.string(), 2)]))
    assert read_as(files, stored, pa.schema([field("a", pa.string(), 3)])) == [{"a": None}]


OLD_NESTED = struct(
    field("x", pa.int32(), 11),
    field("gone", pa.string(), 12),
    field("points", pa.list_(field("item", struct(field("p", pa.float32(), 15)), 14)), 13),
    field("tags", pa.map_(field("key", pa.string(), 17, nullable=False),
                          field("value", struct(field("v", pa.int32(), 19)), 18)), 16),
)  # fmt: skip
NEW_NESTED = struct(
    field("tags", pa.map_(field("key", pa.string(), 17, nullable=False),
                          field("value", struct(field("new", pa.string(), 25),
                                                field("w", pa.int64(), 19)), 18)), 16),
    field("dots", pa.list_(field("element", struct(field("q", pa.float64(), 15),
                                                   field("more", pa.list_(pa.int32()), 24)),
                                 14)), 13),
    field("gone", pa.string(), 23),
    field("x", pa.int64(), 11),
)  # fmt: skip
OLD_VALUES = [
    {"x": 1, "gone": "g", "points": [{"p": 1.5}, None], "tags": [("k", {"v": 1})]},
    None,
    {"x": None, "gone": None, "points": None, "tags": None},
    {"x": 3, "gone": "h", "points": [], "tags": [("l", None), ("m", {"v": None})]},
    {"x": 4, "gone": "i", "points": [{"p": None}], "tags": []},
]
NEW_VALUES = [
    {
        "tags": [("k", {"new": None, "w": 1})],
        "dots": [{"q": 1.5, "more": None}, None],
        "gone": None,
        "x": 1,
    },
    None,
    {"tags": None, "dots": None, "gone": None, "x": None},
    {"tags": [("l", None), ("m", {"new": None, "w": None})], "dots": [], "gone": None, "x": 3},
    {"tags": [], "dots": [{"q": None, "more": None}], "gone": None, "x": 4},
]


def test_nested_fields_evolve_like_columns(files: LocalFiles) -> None:
    """In structs, lists of structs and map values, whichever rows are left of a batch."""
    schema = pa.schema([ID, field("old", OLD_NESTED, 10)])
    stored = pa.table([[*range(5)], pa.array(OLD_VALUES, OLD_NESTED)], schema=schema)
    wanted = pa.schema([field("new", NEW_NESTED, 10)])
    assert read_as(files, stored, wanted) == [{"new": value} for value in NEW_VALUES]
    base = files.write(FileKind.BASE, stored)
    deletes = files.deletes([{"id": 0, "_file_offset": 1}, {"id": 2, "_file_offset": 1}], 1)
    found = files.read(group(task(base, deletes=[deletes])), request(wanted))
    assert found == [{"new": NEW_VALUES[at]} for at in (1, 3, 4)]


@pytest.mark.parametrize("start", range(6))
def test_a_slice_of_nested_values_evolves_as_the_whole_does(start: int) -> None:
    """Offsets and null bits are those of the slice."""
    column = pa.array(OLD_VALUES, OLD_NESTED)
    convert = converter(field("old", OLD_NESTED, 10), field("new", NEW_NESTED, 10), subject="test")
    for end in range(start, 6):
        turned = convert(column[start:end])
        turned.validate(full=True)
        assert turned.type == NEW_NESTED
        assert turned.to_pylist() == NEW_VALUES[start:end]


def test_lists_and_maps_as_columns_evolve_in_slices() -> None:
    """They keep their own offsets while their children are replaced."""
    for old_name, new_name in (("points", "dots"), ("tags", "tags")):
        old, new = OLD_NESTED.field(old_name), NEW_NESTED.field(new_name)
        values = [None if one is None else one[old.name] for one in OLD_VALUES]
        expected = [None if one is None else one[new.name] for one in NEW_VALUES]
        convert = converter(old, new, subject="test")
        for start in range(5):
            turned = convert(pa.array(values, old.type)[start:])
            turned.validate(full=True)
            assert turned.to_pylist() == expected[start:]


def test_a_nested_name_that_came_back_is_another_field(files: LocalFiles) -> None:
    """Equal Arrow types are not enough: the ids inside them decide."""
    stored = pa.table(
        [[{"a": 1}]], schema=pa.schema([field("s", struct(field("a", pa.int64(), 11)), 10)])
    )
    wanted = pa.schema([field("s", struct(field("a", pa.int64(), 12)), 10)])
    assert read_as(files, stored, wanted) == [{"s": {"a": None}}]


def test_nested_fields_that_alone_lack_ids_are_refused(files: LocalFiles) -> None:
    """Taking them for absent would read nulls where there are values."""
    stored = pa.table(
        [[{"a": 1}]], schema=pa.schema([field("s", pa.struct({"a": pa.int64()}), 10)])
    )
    wanted = pa.schema([field("s", struct(field("a", pa.int64(), 11)), 10)])
    with pytest.raises(FormatError, match="column 's': its nested fields have no ids"):
        read_as(files, stored, wanted)


@pytest.mark.parametrize(
    "wanted",
    [
        field("new", pa.string(), 9, nullable=False),
        field("s", struct(field("new", pa.string(), 9, nullable=False)), 10),
    ],
)
def test_a_required_column_must_be_there(files: LocalFiles, wanted: pa.Field) -> None:
    """Nothing could stand in for it."""
    schema = pa.schema([ID, field("s", struct(field("a", pa.int64(), 11)), 10)])
    stored = pa.table([[1], [{"a": 1}]], schema=schema)
    with pytest.raises(FormatError, match="required column is missing"):
        read_as(files, stored, pa.schema([wanted]))


def test_a_required_column_must_not_hold_nulls(files: LocalFiles) -> None:
    """Spark would read whatever stands in a null's place."""
    stored = pa.table([pa.array([1, None])], schema=pa.schema([ID.with_nullable(True)]))
    with pytest.raises(FormatError, match="required column 'id' holds 1 nulls"):
        read_as(files, stored, KEY)


def test_a_file_without_ids_is_read_through_the_name_mapping(files: LocalFiles) -> None:
    """A column may have several names; what the mapping does not name is not in the table."""
    stored = pa.table({"id": [1], "alias": ["x"], "s": [{"a": 5, "b": 6}], "other": [True]})
    nested = field("s", struct(field("now", pa.int64(), 12), field("a", pa.int64(), 13)), 10)
    wanted = pa.schema([*TABLE, nested])
    mapping = {("id",): 1, ("text",): 2, ("alias",): 2, ("s",): 10, ("s", "b"): 12}
    assert read_as(files, stored, wanted, name_mapping=mapping) == [
        {"id": 1, "text": "x", "s": {"now": 6, "a": None}}
    ]


@pytest.mark.parametrize(
    "points",
    [pa.list_, pa.large_list, lambda item: pa.list_(pa.field("array", item))],
    ids=["list", "large", "other name"],
)
def test_nested_fields_without_ids_evolve_like_those_with(
    files: LocalFiles, points: Callable[[pa.DataType], pa.DataType]
) -> None:
    """In structs, lists and maps, whatever the file calls an element."""
    plain = pa.struct(
        {
            "x": pa.int32(),
            "gone": pa.string(),
            "points": points(pa.struct({"p": pa.float32()})),
            "tags": pa.map_(pa.string(), pa.struct({"v": pa.int32()})),
        }
    )
    paths = {
        "old": 10, "old.x": 11, "old.gone": 12, "old.points": 13, "old.points.element": 14,
        "old.points.element.p": 15, "old.tags": 16, "old.tags.key": 17, "old.tags.value": 18,
        "old.tags.value.v": 19,
    }  # fmt: skip
    mapping = {tuple(path.split(".")): number for path, number in paths.items()}
    stored = pa.table({"old": pa.array(OLD_VALUES, plain)})
    wanted = pa.schema([field("new", NEW_NESTED, 10)])

    found = read_as(files, stored, wanted, name_mapping=mapping)

    assert found == [{"new": value} for value in NEW_VALUES]


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({("s",): 10}, "column 's': its nested fields have no ids"),
        ({("s",): 10, ("s", "a"): 11, ("s", "b"): 11}, "names 'a' and 'b' are both field 11"),
        ({("s",): 10, ("t",): 10, ("s", "a"): 11}, "names 's' and 't' are both field 10"),
    ],
)
def test_names_that_do_not_tell_the_fields_are_refused(
    files: LocalFiles, mapping: dict[tuple[str, ...], int], message: str
) -> None:
    """Null would be read where there is a value, or one of two values."""
    stored = pa.table({"s": [{"a": 1, "b": 2}], "t": [{"a": 3, "b": 4}]})
    wanted = pa.schema([field("s", struct(field("a", pa.int64(), 11)), 10)])
    with pytest.raises(FormatError, match=message):
        read_as(files, stored, wanted, name_mapping=mapping)


def test_a_file_without_ids_and_without_mapping_is_refused(files: LocalFiles) -> None:
    """Names alone prove nothing."""
    with pytest.raises(FormatError, match=r"B\.parquet': no column has a field id"):
        read_as(files, pa.table({"id": [1], "text": ["x"]}), TABLE)


def test_a_column_with_a_dot_in_its_name_is_not_a_nested_one(files: LocalFiles) -> None:
    """Parquet paths of both look alike."""
    nested = struct(field("b", pa.int64(), 11), field("c", pa.int64(), 12))
    schema = pa.schema([field("a.b", pa.int64(), 1), field("a", nested, 10)])
    stored = pa.table([[1], [{"b": 2, "c": 3}]], schema=schema)
    assert read_as(files, stored, schema.empty_table().select(["a.b"]).schema) == [{"a.b": 1}]
    assert read_as(files, stored, schema) == [{"a.b": 1, "a": {"b": 2, "c": 3}}]


def test_two_columns_of_one_name_are_refused(files: LocalFiles) -> None:
    """Parquet reads columns by name."""
    stored = pa.table(
        [[1], [2]], schema=pa.schema([field("a", pa.int64(), 1), field("a", pa.int64(), 2)])
    )
    with pytest.raises(FormatError, match="two columns have one name"):
        read_as(files, stored, pa.schema([field("a", pa.int64(), 1)]))


def test_an_empty_result_still_has_the_exact_schema(files: LocalFiles) -> None:
    """One batch without rows."""
    wanted = pa.schema([*TABLE, field("s", NEW_NESTED, 10)])
    assert read_as(files, TABLE.empty_table(), wanted) == []


def test_an_extension_type_can_be_asked_for(files: LocalFiles) -> None:
    """A uuid column stays one, whether the file still knows it or holds plain bytes."""
    wanted = pa.schema([field("u", pa.uuid(), 5)])
    for kind in (pa.uuid(), pa.binary(16)):
        stored = pa.table([pa.array([bytes(16)], kind)], schema=pa.schema([field("u", kind, 5)]))
        file = files.write(FileKind.BASE, stored)
        assert len(files.read(group(task(file)), request(wanted))) == 1


@pytest.mark.parametrize("change", [{"schema": pa.schema([("id", pa.int64())])}, {"batch_rows": 0}])
def test_a_request_that_cannot_be_met_is_refused_at_once(change: dict[str, Any]) -> None:
    """A bug of the caller, before any file is opened."""
    good: dict[str, Any] = {
        "schema": TABLE, "key": KEY, "key_types": ("long",), "row_filter": None,
        "max_delete_bytes": 1, "batch_rows": 1, "verifies_pages": True, "name_mapping": None,
    }  # fmt: skip
    with pytest.raises(InternalError, match="read request"):
        ReadRequest(**(good | change))
