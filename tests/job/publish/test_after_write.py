"""Writes that publish, and what becomes of those that cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError, StorageError
from arctic.iceberg.publishing.published_table import OUTPUTS
from arctic.job.publish import after_write
from tests.iceberg.plain_readers import by_pyiceberg, plain_catalog


def write(folder: Path, number: int, **options: str) -> None:
    """Upsert a row."""
    given = {"primaryKey": "id", **options}
    rows = pa.table({"id": [number % 3], "n": [number]})
    arctic.write("db.t", rows, mode="upsert", options=given, warehouse=str(folder))


def shown(folder: Path, name: str = "db.t_fresh") -> list[dict[str, Any]] | None:
    """Return what other engines read; None: it is not published."""
    with plain_catalog(folder) as catalog:
        if not catalog.table_exists(name):
            return None
    return sorted(by_pyiceberg(folder, name).to_pylist(), key=lambda row: row["id"])


def now(folder: Path) -> list[dict[str, Any]]:
    """Return what is there."""
    table = arctic.read("db.t", warehouse=str(folder)).read_all()
    return sorted(table.to_pylist(), key=lambda row: row["id"])


def test_a_write_publishes_what_it_committed(tmp_path: Path) -> None:
    """Under every name that the table is shown under, and as it is shown there."""
    write(tmp_path, 1, publish="auto")
    assert shown(tmp_path) == now(tmp_path)
    arctic.publish("db.t", into="db.other", output="v3", warehouse=str(tmp_path))

    write(tmp_path, 2, publish="auto", optimize="auto")
    assert shown(tmp_path) == shown(tmp_path, "db.other") == now(tmp_path)
    write(tmp_path, 3)
    assert shown(tmp_path) != now(tmp_path)


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_property_says_how_a_table_is_published_first(tmp_path: Path, output: str) -> None:
    """Whoever publishes it, unless a call says otherwise; one that is published stays as it is."""
    place, given = str(tmp_path), {"publish.output": output}
    arctic.create_table(
        "db.t",
        pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int64())]),
        primary_key=["id"],
        properties=given,
        warehouse=place,
    )
    write(tmp_path, 1, publish="auto")
    arctic.publish("db.t", into="db.other", output="clean", warehouse=place)
    table = arctic.open_table("db.t", warehouse=place)
    table.set_properties({"publish.output": "v3"})
    write(tmp_path, 2, publish="auto")

    assert shown(tmp_path) == shown(tmp_path, "db.other") == now(tmp_path)
    with plain_catalog(tmp_path) as catalog:
        made = [
            catalog.load_table(name).properties["arctic.published-output"]
            for name in ("db.t_fresh", "db.other")
        ]
    assert made == [output, "clean"]


def test_a_write_may_leave_several_commits_together(tmp_path: Path) -> None:
    """Whoever made them, and whatever was merged between them."""
    place = str(tmp_path)
    write(tmp_path, 1, publish="auto")
    write(tmp_path, 2)
    every = {"publish": "auto", "publish-every-commits": "3"}
    before = shown(tmp_path)
    write(tmp_path, 3, **every)
    assert shown(tmp_path) == before
    write(tmp_path, 4, **every)
    assert shown(tmp_path) == now(tmp_path)

    at_once = {"snapshot.keep.duration": "0", "change.data.ttl.minutes": "0"}
    arctic.optimize("db.t", type="full", warehouse=place)
    arctic.expire("db.t", options=at_once, warehouse=place)
    write(tmp_path, 5, **{**every, "publish-every-commits": "100"})
    assert shown(tmp_path) == now(tmp_path), "nobody can tell how many commits have come"


def test_a_property_has_every_write_and_edit_publish(tmp_path: Path) -> None:
    """As the options do, which win over it; as often as another property says."""
    write(tmp_path, 1)
    table = arctic.open_table("db.t", warehouse=str(tmp_path))
    table.set_properties({"publish": "auto"})

    write(tmp_path, 2)
    assert shown(tmp_path) == now(tmp_path)
    table.update("id = 1", set={"n": "n + 10"})
    assert shown(tmp_path) == now(tmp_path)
    table.delete("id = 1")
    assert shown(tmp_path) == now(tmp_path)
    rows = pa.table({"id": [2, 7], "n": [0, 0]})
    table.merge(rows, on="id").when_matched_update_all().when_not_matched_insert_all().execute()
    assert shown(tmp_path) == now(tmp_path) != []
    before = shown(tmp_path)
    write(tmp_path, 4, publish="none")
    table.delete("id = 7", options={"publish": "none"})
    assert shown(tmp_path) == before != now(tmp_path)

    table.set_properties({"publish-every-commits": "4"})
    write(tmp_path, 5)
    assert shown(tmp_path) == before
    write(tmp_path, 6)
    assert shown(tmp_path) == now(tmp_path)
    table.unset_properties(["publish", "publish-every-commits"])
    write(tmp_path, 7)
    assert shown(tmp_path) != now(tmp_path)


@pytest.mark.parametrize("name", ["publish", "publish-every-commits"])
def test_a_property_of_publishing_is_understood_or_refused(tmp_path: Path, name: str) -> None:
    """When it is set: no write would be refused for it later."""
    write(tmp_path, 1)
    table = arctic.open_table("db.t", warehouse=str(tmp_path))
    with pytest.raises(InvalidInputError, match=f"table property {name} = 'always'"):
        table.set_properties({name: "always"})


def test_a_write_stands_whose_table_cannot_be_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It warns, in the line that wrote."""

    def broken(*_: object, **__: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(after_write, "publish_table", broken)
    rows, options = pa.table({"id": [1]}), {"primaryKey": "id", "publish": "auto"}
    with pytest.warns(RuntimeWarning, match="published: StorageError: the disk is full") as found:
        arctic.write("db.t", rows, mode="upsert", options=options, warehouse=str(tmp_path))

    assert found[0].filename == __file__
    assert arctic.read("db.t", warehouse=str(tmp_path)).read_all().num_rows == 1


def test_a_write_stands_whose_table_says_what_nobody_understands(tmp_path: Path) -> None:
    """Another engine may have set the property; whoever is told of an error writes again."""
    write(tmp_path, 1)
    with plain_catalog(tmp_path) as catalog, catalog.load_table("db.t").transaction() as change:
        change.set_properties({"publish": "always"})

    with pytest.warns(RuntimeWarning, match="table property publish = 'always'"):
        write(tmp_path, 2)
    with pytest.warns(RuntimeWarning, match="table property publish = 'always'"):
        arctic.open_table("db.t", warehouse=str(tmp_path)).delete("id = 1")

    assert now(tmp_path) == [{"id": 2, "n": 2}]


def test_an_edit_publishes_what_it_committed(tmp_path: Path) -> None:
    """As a write does, and only where it committed anything; so does an open table that is told."""
    for number in range(3):
        write(tmp_path, number, publish="auto")
    table = arctic.open_table("db.t", warehouse=str(tmp_path))
    auto = {"publish": "auto"}

    table.update("id = 1", set={"n": "n + 10"}, options=auto)
    assert shown(tmp_path) == now(tmp_path)
    table.delete("id = 0", options={**auto, "optimize": "auto"})
    assert shown(tmp_path) == now(tmp_path)
    rows = pa.table({"id": [1, 7], "n": [0, 0]})
    table.merge(rows, on="id", options=auto).when_not_matched_insert_all().execute()
    assert [row["id"] for row in shown(tmp_path) or []] == [1, 2, 7]
    before = published_at(tmp_path)
    table.delete("id = 100", options=auto)
    assert published_at(tmp_path) == before
    table.delete("id = 7")
    assert shown(tmp_path) != now(tmp_path)
    assert table.publish().snapshot_id is not None
    assert shown(tmp_path) == now(tmp_path)
    table.publish(into="db.other", output="clean")
    assert shown(tmp_path, "db.other") == now(tmp_path)
    assert table.unpublish("db.other") == ("db.other",)
    assert table.unpublish() == ("db.t_fresh",)


def published_at(folder: Path) -> int | None:
    """Return the snapshot that other engines read."""
    with plain_catalog(folder) as catalog:
        found = catalog.load_table("db.t_fresh").current_snapshot()
        return None if found is None else found.snapshot_id


def test_an_edit_refuses_options_that_it_does_not_go_by(tmp_path: Path) -> None:
    """Before anything is changed."""
    write(tmp_path, 1)
    table = arctic.open_table("db.t", warehouse=str(tmp_path))
    with pytest.raises(InvalidInputError, match=r"write-mode.*optimize, publish"):
        table.delete(options={"write-mode": "append"})
    with pytest.raises(InvalidInputError, match="publish = 'always'"):
        table.merge(pa.table({"id": [1]}), on="id", options={"publish": "always"})
    assert len(now(tmp_path)) == 1
