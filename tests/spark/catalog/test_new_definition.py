"""The key of a table that a statement, or Spark itself, makes."""

from __future__ import annotations

from typing import Any

import pytest

from arctic.errors import InvalidInputError
from arctic.spark.base.catalog_questions import CreateTableQuestion
from arctic.spark.catalog.new_definition import new_definition

COLUMNS: dict[str, Any] = {
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


def test_a_table_with_the_history_of_its_keys_has_no_key_of_them() -> None:
    """Of which the second row of a key would be refused long after."""
    names = ("__START_AT", "__spark_autocdc_metadata")
    more = [{**COLUMNS["fields"][0], "name": name} for name in names]
    asked = CreateTableQuestion(
        catalog={},
        name=("shop", "history"),
        schema={"type": "struct", "fields": [*COLUMNS["fields"], *more]},
        partitions=(),
        properties={"primaryKey": "id"},
        constraints=(),
        stage=None,
    )

    with pytest.raises(InvalidInputError, match=r"SCD type 2.*leave the key out"):
        new_definition(asked)


@pytest.mark.parametrize(
    ("columns", "expected"), [(["id"], "id"), (["id", "city"], "hilbert(id,city)")]
)
def test_a_clustered_table_is_sorted(columns: list[str], expected: str) -> None:
    """By one column, or by several that count alike; said twice it is refused."""
    cluster = ("cluster_by", *({"column": name} for name in columns))

    def asked(properties: dict[str, str]) -> CreateTableQuestion:
        return CreateTableQuestion(
            catalog={},
            name=("shop", "t"),
            schema=COLUMNS,
            partitions=(cluster,),
            properties=properties,
            constraints=(),
            stage=None,
        )

    definition = new_definition(asked({}))

    assert definition.partition_by == ()
    assert definition.properties == {"self-optimizing.sort-columns": expected}
    with pytest.raises(InvalidInputError, match="give one of the two"):
        new_definition(asked({"self-optimizing.sort-columns": "id"}))
