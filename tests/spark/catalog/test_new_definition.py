"""The key of a table that a statement, or Spark itself, makes."""

from __future__ import annotations

import pytest

from arctic.spark.base.catalog_questions import CreateTableQuestion
from arctic.spark.catalog.new_definition import new_definition

COLUMNS = {
    "type": "struct",
    "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}],
}
KEYS = {"pipelines.autocdc.keyColumnNames": '["id"]'}


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({**KEYS, "pipelines.autocdc.scdType": "SCD1"}, ("id",)),
        ({**KEYS, "pipelines.autocdc.scdType": "SCD2"}, ()),
    ],
    ids=["one row of a key", "its history"],
)
def test_a_table_of_auto_cdc_has_the_key_of_its_rows(
    properties: dict[str, str], expected: tuple[str, ...]
) -> None:
    """Where it holds the history of a key, the key is that of several rows."""
    asked = CreateTableQuestion(
        catalog={},
        name=("shop", "state"),
        schema=COLUMNS,
        partitions=(),
        properties=properties,
        constraints=(),
        stage=None,
    )

    definition = new_definition(asked)

    assert definition.primary_key == expected
    assert definition.properties == properties
