"""Changes of a table that a statement asks for, and those that a pipeline does at each run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arctic
from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.catalog import CatalogConfig
from arctic.iceberg.tables.open_table import open_table
from arctic.spark.base.catalog_questions import AlterTableQuestion
from arctic.spark.catalog import alter_table
from arctic.spark.catalog.alter_table import altered

SCHEMA = pa.schema([("id", pa.int64()), ("region", pa.string()), ("v", pa.string())])
NULLABLE = [
    {"kind": "update_nullability", "column": [name], "nullable": True} for name in SCHEMA.names
]
MORE = {
    "kind": "add_column",
    "column": ["n"],
    "column_type": {
        "type": "struct",
        "fields": [{"name": "n", "type": "long", "nullable": True, "metadata": {}}],
    },
    "nullable": True,
    "comment": None,
    "position": None,
    "default": None,
}


def prop(name: str, value: str) -> dict[str, Any]:
    """Return the setting of a property."""
    return {"kind": "set_property", "name": name, "value": value}


def ask(folder: Path, *changes: dict[str, Any], of_pipeline: bool) -> arctic.Table:
    """Ask for changes, and return the table after them."""
    catalog = {"warehouse": str(folder)}
    altered(
        AlterTableQuestion(
            catalog=catalog, name=("shop", "t"), changes=changes, of_pipeline=of_pipeline
        )
    )
    return arctic.open_table("shop.t", warehouse=str(folder))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a warehouse with a table."""
    schema = SCHEMA.set(2, SCHEMA.field("v").with_nullable(False))
    key = ["id", "region"]
    arctic.create_table("shop.t", schema, primary_key=key, warehouse=str(tmp_path))
    return tmp_path


def test_a_pipeline_leaves_the_key_as_it_is(folder: Path) -> None:
    """What it asks beside that is done: columns that take null, new ones, and properties."""
    key = prop("primary-key", "id,region")
    table = ask(folder, *NULLABLE, MORE, key, prop("mine", "x"), of_pipeline=True)

    nullable = {field.name: field.nullable for field in table.schema}
    assert nullable == {"id": False, "region": False, "v": True, "n": True}
    assert table.primary_key == ("id", "region")
    assert table.properties["mine"] == "x"
    assert ask(folder, *NULLABLE[:1], of_pipeline=True).schema == table.schema
    with pytest.raises(arctic.UnsupportedError, match="the key of a table stays"):
        ask(folder, prop("primaryKey", "id"), of_pipeline=True)


def test_a_statement_that_would_change_the_key_is_refused(folder: Path) -> None:
    """With all that came with it."""
    for change in (NULLABLE[0], prop("primaryKey", "id, region")):
        with pytest.raises(arctic.ArcticError, match="key"):
            ask(folder, MORE, change, of_pipeline=False)
    assert arctic.open_table("shop.t", warehouse=str(folder)).schema.names == SCHEMA.names


def test_columns_and_properties_change_together(folder: Path) -> None:
    """In one commit of base, or none of them does; the change store has them too."""
    config = CatalogConfig.from_options({"warehouse": str(folder)})
    before = open_table(config, "shop.t").base.metadata
    table = ask(folder, prop("mine", "x"), MORE, of_pipeline=False)

    assert table.schema.names[-1] == "n"
    assert table.properties["mine"] == "x"
    opened = open_table(config, "shop.t")
    assert len(opened.base.metadata.metadata_log) == len(before.metadata_log) + 1
    assert opened.change is not None
    assert opened.change.properties["mine"] == "x"
    unset = {"kind": "remove_property", "name": "mine"}
    again = {**MORE, "column": ["m"]}
    for wrong in (prop("self-optimizing.sort-columns", "none"), prop("mine", "y")):
        with pytest.raises(arctic.InvalidInputError, match=r"mine|none"):
            ask(folder, again, unset, wrong, of_pipeline=False)
    assert ask(folder, of_pipeline=False).schema.names[-1] == "n"
    table = ask(folder, again, unset, prop("self-optimizing.sort-columns", "m"), of_pipeline=False)
    assert table.schema.names[-1] == "m"
    assert "mine" not in table.properties


def test_rows_are_clustered_from_now_on_or_no_more(folder: Path) -> None:
    """As where a table is created so: several columns count alike, one is an order."""
    for columns, order in ((["region", "v"], "hilbert(region,v)"), (["v"], "v"), ([], None)):
        change = {"kind": "cluster_by", "column": columns}
        table = ask(folder, change, of_pipeline=False)
        assert table.properties.get("self-optimizing.sort-columns") == order
    with pytest.raises(InvalidInputError, match="nope"):
        ask(folder, {"kind": "cluster_by", "column": ["nope"]}, of_pipeline=False)


def test_a_table_is_opened_once_to_see_what_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though a pipeline changes its columns, and its key is to stay."""
    opened = []

    def counted(*given: Any, **named: Any) -> Any:
        opened.append(given)
        return open_table(*given, **named)

    monkeypatch.setattr(alter_table, "open_table", counted)
    ask(folder, *NULLABLE, of_pipeline=True)
    ask(folder, prop("mine", "x"), of_pipeline=False)
    assert len(opened) == 1
