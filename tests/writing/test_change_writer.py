"""What change files hold, row by row, and which streams are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from arctic.errors import InternalError, InvalidInputError
from arctic.table.files import FileKind
from arctic.writing.target import TaskResult
from arctic.writing.write_request import WriteMode, WriteRequest
from tests.writing.local_table import SCHEMA, Row, Store, batch, begin, make_target, read, write

EVENTS = pa.schema([*SCHEMA, ("op", pa.string()), ("seq", pa.int64())])


def row(id: int | None, region: str | None = "eu", amount: int | None = 1, **more: Any) -> Row:
    """Return a row of the table."""
    return {"id": id, "region": region, "amount": amount, "note": f"n{id}", **more}


def events(*rows: Row, seq: bool = False) -> pa.RecordBatch:
    """Return a batch with an action column."""
    names = [*SCHEMA.names, "op", *(["seq"] if seq else [])]
    return batch(rows, pa.schema([EVENTS.field(name) for name in names]))


def found(result: TaskResult, kind: FileKind) -> list[Row]:
    """Return the rows of all files of a kind."""
    return [found_row for file in result.files if file.kind is kind for found_row in read(file)]


def deletes(result: TaskResult) -> list[Row]:
    """Return the change deletes by offset."""
    return sorted(found(result, FileKind.CHANGE_DELETE), key=lambda r: r["_file_offset"])


def inserts(result: TaskResult) -> list[Row]:
    """Return the inserts by offset."""
    return sorted(found(result, FileKind.INSERT), key=lambda r: r["_file_offset"])


def test_an_upsert_deletes_the_key_and_then_inserts(tmp_path: Path) -> None:
    """Adjacent offsets; the delete holds key and required columns, nothing optional."""
    result = write(make_target(tmp_path), [batch([row(5), row(6)])], mode="upsert", partition_id=2)

    first = 2 * 2**40 + 1
    assert deletes(result) == [
        {"id": 5, "region": None, "amount": 1, "note": None, "_file_offset": first},
        {"id": 6, "region": None, "amount": 1, "note": None, "_file_offset": first + 2},
    ]
    assert inserts(result) == [
        {**row(5), "_file_offset": first + 1},
        {**row(6), "_file_offset": first + 3},
    ]
    assert (result.rows_in, result.inserts, result.deletes) == (2, 2, 2)


@pytest.mark.parametrize(
    ("rows", "mask", "few", "nodes"),
    [
        (10, 3, 256, [1]),
        (511, 3, 256, [1]),
        (512, 3, 256, [2, 3]),
        (1_023, 7, 256, [2, 3]),
        (1_024, 7, 256, [4, 5, 6, 7]),
        (1_024, 7, 1_000, [1]),
        (1_024, 1, 256, [2, 3]),
        (10, 0, 256, [1]),
        (10, 3, 0, [4, 5, 6, 7]),
    ],
)
def test_few_changes_of_a_small_table_go_to_fewer_nodes(
    tmp_path: Path, rows: int, mask: int, few: int, nodes: list[int]
) -> None:
    """Their inserts and deletes alike, as many nodes as have some hundred rows each."""
    target = make_target(tmp_path, change_mask=mask, few_rows=few, chunk_rows=2_000)

    result = write(target, [batch([row(number) for number in range(rows)])], mode="upsert")

    for kind in (FileKind.INSERT, FileKind.CHANGE_DELETE):
        assert sorted(f.node.node_id for f in result.files if f.kind is kind) == nodes
    assert [each["id"] for each in inserts(result)] == list(range(rows))


def test_the_end_of_a_long_write_goes_where_its_beginning_went(tmp_path: Path) -> None:
    """Few rows are the last of many: another node would get files for them alone."""
    target = make_target(tmp_path, few_rows=256, chunk_rows=1_000)

    result = write(target, [batch([row(number)]) for number in range(1_001)], mode="upsert")

    assert {file.node.mask for file in result.files} == {3}


def test_a_known_update_shows_the_old_row_at_the_same_offset(tmp_path: Path) -> None:
    """The first before-image of the chunk, complete, also where later ones follow."""
    result = write(
        make_target(tmp_path),
        [
            events(
                row(5, amount=1, op="-U"),
                row(5, amount=2, op="+U"),
                row(5, amount=2, op="-U"),
                row(5, amount=3, op="+U"),
            )
        ],
        mode="append",
        action_column="op",
    )

    assert deletes(result) == [{**row(5, amount=1), "_file_offset": 1}]
    assert inserts(result) == [{**row(5, amount=3), "_file_offset": 1}]


def test_images_and_mere_keys_stand_in_one_file(tmp_path: Path) -> None:
    """What is not known is null, also nested columns."""
    inner = pa.struct([pa.field("x", pa.int32(), metadata={b"PARQUET:field_id": b"6"})])
    schema = SCHEMA.append(pa.field("s", inner, metadata={b"PARQUET:field_id": b"5"}))
    target = make_target(tmp_path, schema=schema, change_mask=0)
    given = batch(
        [
            row(1, op="D", s={"x": 1}),
            row(2, op="U", s={"x": 2}),
            row(3, op="-U", s={"x": 3}),
        ],
        pa.schema([*schema, ("op", pa.string())]),
    )

    result = write(target, [given], mode="append", action_column="op")

    assert deletes(result) == [
        {**row(1), "s": {"x": 1}, "_file_offset": 1},
        {"id": 2, "region": None, "amount": 1, "note": None, "s": None, "_file_offset": 2},
        {**row(3), "s": {"x": 3}, "_file_offset": 4},
    ]


def test_an_append_keeps_every_row(tmp_path: Path) -> None:
    """Nothing is deleted and nothing collapsed, over several chunks."""
    target = make_target(tmp_path, chunk_rows=2)

    result = write(target, [batch([row(1), row(1), row(1)]), batch([row(2)])], mode="append")

    assert [(r["id"], r["_file_offset"]) for r in inserts(result)] == [
        (1, 1), (1, 2), (1, 3), (2, 4),
    ]  # fmt: skip
    assert (result.deletes, deletes(result)) == (0, [])


def test_inserts_need_no_delete_where_the_caller_says_so(tmp_path: Path) -> None:
    """With write.upsert.enabled = false; a key that is inserted again later does."""
    target = make_target(tmp_path, upsert_inserts=False, chunk_rows=1)
    store = Store(target)

    result = write(
        target,
        [events(row(1, amount=1, op="I"), row(2, op="I"), row(1, amount=2, op="I"))],
        mode="append",
        action_column="op",
    )
    store.commit(result)

    assert [r["id"] for r in deletes(result)] == [1]
    assert sorted((r["id"], r["amount"]) for r in store.merged()) == [(1, 2), (2, 1)]


def test_a_delete_by_key_carries_the_key_alone(tmp_path: Path) -> None:
    """Required columns that the frame lacks are null too."""
    target = make_target(tmp_path)

    result = write(target, [batch([{"id": 9}], only("id"))], mode="delete")

    assert deletes(result) == [
        {"id": 9, "region": None, "amount": None, "note": None, "_file_offset": 1}
    ]
    assert inserts(result) == []


def only(*names: str) -> pa.Schema:
    """Return some columns of the table."""
    return pa.schema([SCHEMA.field(name) for name in names])


def moving(folder: Path, **options: Any) -> Any:
    """Return a target whose keys can change their partition."""
    return make_target(folder, partition_by=["region"], **options)


def by_partition(result: TaskResult, kind: FileKind) -> dict[Any, list[Row]]:
    """Return rows without offsets, by the value of their partition."""
    rows: dict[Any, list[Row]] = {}
    for file in result.files:
        if file.kind is kind:
            rows.setdefault(file.partition[0], []).extend(read(file))
    for each in rows.values():
        for found_row in each:
            del found_row["_file_offset"]
    return rows


def test_a_moved_key_dies_where_it_is_and_where_it_goes(tmp_path: Path) -> None:
    """The search finds the old partition; each partition gets one delete."""
    target = moving(tmp_path)
    store = Store(target)
    store.commit(write(target, [batch([row(1, "eu")])], mode="append"))

    result = write(
        target, [batch([row(1, "us"), row(1, "asia")])], mode="upsert", locate=store.locate
    )
    store.commit(result)

    dead = by_partition(result, FileKind.CHANGE_DELETE)
    assert set(dead) == {"eu", "us", "asia"}
    assert dead["eu"] == [{"id": 1, "region": "eu", "amount": 1, "note": None}]
    assert [r["region"] for r in store.merged()] == ["asia"]
    assert result.deletes == 3


def test_the_old_row_is_shown_where_it_was(tmp_path: Path) -> None:
    """A before-image knows more than the search that finds the same partition."""
    target = moving(tmp_path)
    store = Store(target)
    store.commit(write(target, [batch([row(1, "eu")])], mode="append"))

    result = write(
        target,
        [events(row(1, "eu", op="-U"), row(1, "us", amount=8, op="+U"))],
        mode="append",
        action_column="op",
        locate=store.locate,
    )

    assert by_partition(result, FileKind.CHANGE_DELETE) == {
        "eu": [row(1, "eu")],
        "us": [{"id": 1, "region": "us", "amount": 8, "note": None}],
    }
    assert by_partition(result, FileKind.INSERT) == {"us": [row(1, "us", amount=8)]}


def test_a_delete_by_key_is_written_where_the_search_finds_it(tmp_path: Path) -> None:
    """A key that is nowhere leaves no delete."""
    target = moving(tmp_path)
    store = Store(target)
    store.commit(write(target, [batch([row(1, "eu"), row(2, None), row(3, "us")])], mode="append"))

    result = write(
        target,
        [batch([{"id": 1}, {"id": 2}, {"id": 77}], only("id"))],
        mode="delete",
        locate=store.locate,
    )
    store.commit(result)

    assert set(by_partition(result, FileKind.CHANGE_DELETE)) == {"eu", None}
    assert [r["id"] for r in store.merged()] == [3]


def test_the_search_is_asked_once_for_distinct_keys(tmp_path: Path) -> None:
    """It costs a read of the table; what it returns beyond the keys is left out."""
    target = moving(tmp_path, chunk_rows=1)
    asked: list[list[Row]] = []

    def locate(keys: pa.Table) -> pa.Table:
        asked.append(keys.to_pylist())
        return pa.table({"region": ["x", "y"], "id": pa.array([1, 50])})

    result = write(
        target,
        [batch([row(1), row(2), row(1)]), batch([row(2)])],
        mode="upsert",
        locate=locate,
    )

    assert asked == [[{"id": 1}, {"id": 2}]]
    assert {file.partition[0] for file in result.files} == {"eu", "x"}


def test_a_search_is_not_asked_for_what_needs_no_delete(tmp_path: Path) -> None:
    """Fresh inserts, appends, and empty tasks."""
    target = moving(tmp_path, upsert_inserts=False)

    def locate(keys: pa.Table) -> pa.Table:
        raise AssertionError(keys)

    write(target, [batch([row(1)])], mode="append", locate=locate)
    write(target, [batch([])], mode="upsert", locate=locate)
    write(target, [events(row(1, op="I"))], mode="append", action_column="op", locate=locate)


def test_events_out_of_order_are_ordered_by_the_column(tmp_path: Path) -> None:
    """Over all chunks of the task, as long as nobody claims that they are sorted."""
    target = make_target(tmp_path, chunk_rows=1)
    given = events(row(1, amount=3, op="U", seq=9), row(1, amount=4, op="U", seq=5), seq=True)

    result = write(target, [given], mode="append", action_column="op", ordering_column="seq")

    assert [r["amount"] for r in inserts(result)] == [3]


def test_arrival_breaks_ties_of_the_ordering_column(tmp_path: Path) -> None:
    """After a shuffle the rows come in any order, with their old place beside them."""
    schema = pa.schema([*SCHEMA, ("seq", pa.int64()), ("_arrival", pa.int64())])
    given = batch(
        [row(1, amount=3, seq=5, _arrival=20), row(1, amount=4, seq=5, _arrival=10)], schema
    )

    result = write(
        make_target(tmp_path),
        [given],
        mode="upsert",
        ordering_column="seq",
        arrival_column="_arrival",
    )

    assert [r["amount"] for r in inserts(result)] == [3]


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
def test_a_false_claim_of_sorted_events_is_refused(tmp_path: Path, chunk_rows: int) -> None:
    """Whether it shows inside a chunk or between two."""
    target = make_target(tmp_path, chunk_rows=chunk_rows)
    given = [events(row(1, op="U", seq=2), seq=True), events(row(1, op="U", seq=1), seq=True)]

    with pytest.raises(InternalError, match="announced as sorted by seq, but are not"):
        write(
            target,
            given,
            mode="append",
            action_column="op",
            ordering_column="seq",
            sorted_input=True,
        )


def test_a_bad_action_names_its_row(tmp_path: Path) -> None:
    """By the key, in the batch that has it."""
    with pytest.raises(InvalidInputError) as caught:
        write(
            make_target(tmp_path),
            [events(row(1, op="I"), row(2, op="X"))],
            mode="append",
            action_column="op",
        )

    assert "action column 'op' is 'X' in the row with key (id=2); expected one of" in str(
        caught.value
    )


def test_a_delete_event_may_know_only_its_key_but_a_row_must_be_whole(tmp_path: Path) -> None:
    """CDC sources send deletes with nothing but the key."""
    target = make_target(tmp_path)

    result = write(target, [events(row(1, None, None, op="D"))], mode="append", action_column="op")
    assert deletes(result)[0]["amount"] is None
    with pytest.raises(InvalidInputError, match=r"'amount' .* required, but null .*\(id=2\)"):
        write(target, [events(row(2, amount=None, op="U"))], mode="append", action_column="op")


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    """The caller aborts; files that were already complete go as well."""
    target = make_target(tmp_path, chunk_rows=1, row_group_bytes=1, target_file_bytes=1)
    writer = begin(target, batch([]).schema, WriteRequest(mode=WriteMode.UPSERT))
    writer.write(batch([row(1)]))
    assert list(tmp_path.rglob("*.parquet"))
    with pytest.raises(InvalidInputError):
        writer.write(batch([row(None)]))

    writer.abort()

    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize("kind", ["event", "delete"])
def test_a_delete_must_say_where_its_row_is_if_nobody_searches(tmp_path: Path, kind: str) -> None:
    """A null in a required partition column is not a place: the delete would be lost."""
    schema = pa.schema([column.with_nullable(column.name == "note") for column in SCHEMA])
    target = moving(tmp_path, schema=schema)
    request: dict[str, Any] = {"mode": "delete"}
    given = batch([row(1, None)])
    if kind == "event":
        given, request = events(row(1, None, op="D")), {"mode": "append", "action_column": "op"}

    with pytest.raises(
        InvalidInputError, match=r"column 'region' .* required, but null .*\(id=1\)"
    ):
        write(target, [given], **request)
    empty = pa.table({"id": pa.array([], pa.int64()), "region": pa.array([], pa.string())})
    assert write(target, [given], locate=lambda keys: empty, **request).rows_in == 1


@pytest.mark.parametrize("searching", [True, False])
def test_every_row_of_a_delete_names_a_partition(tmp_path: Path, searching: bool) -> None:
    """Also three of one key; a search adds what it finds."""
    target = moving(tmp_path)

    def locate(keys: pa.Table) -> pa.Table:
        return pa.table({"id": pa.array([1]), "region": ["asia"]})

    result = write(
        target,
        [batch([row(1, "eu"), row(1, "us"), row(1, "eu"), row(2, "us"), row(1, None)])],
        mode="delete",
        locate=locate if searching else None,
    )

    dead = {
        region: sorted(r["id"] for r in rows)
        for region, rows in by_partition(result, FileKind.CHANGE_DELETE).items()
    }
    expected = {"eu": [1], "us": [1, 2], None: [1]}
    assert dead == (expected | {"asia": [1]} if searching else expected)


def test_what_is_located_belongs_to_its_key(tmp_path: Path) -> None:
    """Also beside fresh inserts, which nobody searches for."""
    target = moving(tmp_path, upsert_inserts=False)
    store = Store(target)
    store.commit(write(target, [batch([row(3, "eu")])], mode="append"))

    result = write(
        target,
        [events(row(1, op="I"), row(2, op="I"), row(3, "us", op="U"))],
        mode="append",
        action_column="op",
        locate=store.locate,
    )
    store.commit(result)

    assert [r["id"] for r in deletes(result)] == [3, 3]
    assert sorted((r["id"], r["region"]) for r in store.merged()) == [
        (1, "eu"), (2, "eu"), (3, "us"),
    ]  # fmt: skip
