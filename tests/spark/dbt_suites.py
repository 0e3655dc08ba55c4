"""Those of dbt's tests of adapters that ask for what Arctic offers; test_dbt.py runs them.

It runs in a pytest of its own, with dbt's fixtures, beside what dbt is installed with. docs/dbt.md
says which are left out, and why.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.basic.test_empty import BaseEmpty
from dbt.tests.adapter.basic.test_ephemeral import BaseEphemeral
from dbt.tests.adapter.basic.test_generic_tests import BaseGenericTests
from dbt.tests.adapter.basic.test_incremental import BaseIncremental, BaseIncrementalNotSchemaChange
from dbt.tests.adapter.basic.test_singular_tests import BaseSingularTests
from dbt.tests.adapter.basic.test_singular_tests_ephemeral import BaseSingularTestsEphemeral
from dbt.tests.adapter.basic.test_snapshot_check_cols import BaseSnapshotCheckCols
from dbt.tests.adapter.basic.test_snapshot_timestamp import BaseSnapshotTimestamp
from dbt.tests.adapter.basic.test_table_materialization import BaseTableMaterialization
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import (
    BaseMergeExcludeColumns,
)
from dbt.tests.adapter.incremental.test_incremental_microbatch import BaseMicrobatch
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import (
    BaseIncrementalOnSchemaChange,
    BaseIncrementalOnSchemaChangeSetup,
)
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey
from dbt.tests.adapter.simple_snapshot.test_snapshot import BaseSimpleSnapshot, BaseSnapshotCheck
from dbt.tests.fixtures.project import write_project_files
from dbt.tests.util import write_file
from pyspark.sql import SparkSession

import arctic

MACROS = Path(__file__).parents[2] / "examples" / "dbt" / "macros" / "arctic.sql"
FORMAT = {"+file_format": "iceberg"}


@pytest.fixture(scope="session", autouse=True)
def _session() -> Iterator[None]:
    """Begin the session that dbt takes; ARCTIC_WAREHOUSE says where tables are."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.catalogImplementation", "in-memory")
        .getOrCreate()
    )
    arctic.register(spark)
    yield
    spark.stop()


@pytest.fixture(scope="class")
def dbt_profile_target() -> dict[str, Any]:
    """Say what the page does."""
    default = {"spark.sql.defaultCatalog": "arctic"}
    session = {"type": "spark", "method": "session", "host": "localhost", "threads": 1}
    return {**session, "server_side_parameters": default}


@pytest.fixture(scope="class")
def dbt_project_yml(
    project_root: os.PathLike[str], project_config_update: Mapping[str, Any]
) -> dict[str, Any]:
    """Say for each suite what a project of Arctic's says: all are tables."""
    kinds = {"models": {**FORMAT, "+materialized": "table"}, "seeds": FORMAT, "snapshots": FORMAT}
    given = {"name": "test", "profile": "test", **project_config_update}
    project = {**given, **{kind: {**own, **given.get(kind, {})} for kind, own in kinds.items()}}
    write_file(json.dumps(project), project_root, "dbt_project.yml")
    return project


def _tables(files: Mapping[str, Any]) -> dict[str, Any]:
    """Return the models of a suite, those that are views as tables."""
    return {
        name: text.replace('materialized="view"', 'materialized="table"')
        if isinstance(text, str)
        else text
        for name, text in files.items()
    }


@pytest.fixture(scope="class")
def project_files(
    project_root: os.PathLike[str],
    models: Mapping[str, Any],
    macros: Mapping[str, Any],
    snapshots: Mapping[str, Any],
    properties: Mapping[str, Any],
    seeds: Mapping[str, Any],
    tests: Mapping[str, Any],
    dbt_project_yml: object,
) -> None:
    """Write the project of a suite, with the macros of the page."""
    write_project_files(project_root, "models", {**_tables(models), **properties})
    write_project_files(project_root, "macros", {"arctic.sql": MACROS.read_text(), **macros})
    for name, files in (("snapshots", snapshots), ("seeds", seeds), ("tests", tests)):
        write_project_files(project_root, name, files)


class TestEmpty(BaseEmpty):
    """A project without models."""


@pytest.mark.slow
class TestEphemeral(BaseEphemeral):
    """Models that are parts of others."""


class TestGenericTests(BaseGenericTests):
    """Tests of columns."""


class TestIncremental(BaseIncremental):
    """Models that grow."""


@pytest.mark.slow
class TestIncrementalNotSchemaChange(BaseIncrementalNotSchemaChange):
    """Values that become longer or shorter change no column."""


class TestSingularTests(BaseSingularTests):
    """Tests that are statements."""


class TestSingularTestsEphemeral(BaseSingularTestsEphemeral):
    """The same, of what is no table."""


@pytest.mark.slow
class TestSnapshotCheckCols(BaseSnapshotCheckCols):
    """Histories of rows whose columns change."""


@pytest.mark.slow
class TestSnapshotTimestamp(BaseSnapshotTimestamp):
    """Histories of rows whose time changes."""


class TestTableMaterialization(BaseTableMaterialization):
    """Tables, made again."""


class TestValidateConnection(BaseValidateConnection):
    """The profile is one."""


class TestMergeExcludeColumns(BaseMergeExcludeColumns):
    """Columns that a merge leaves as they are."""


class TestSyncColumns(BaseIncrementalOnSchemaChangeSetup):
    """Columns that come and go, once."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        """Say how models with a key are merged."""
        return {"models": {"+incremental_strategy": "merge"}}

    def test_columns_come_and_go(self, project: Any) -> None:
        """As one of the tests below has it."""
        self.run_incremental_sync_all_columns(project)


@pytest.mark.slow
class TestIncrementalOnSchemaChange(BaseIncrementalOnSchemaChange):
    """Columns that come and go."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        """Say how models with a key are merged."""
        return {"models": {"+incremental_strategy": "merge"}}


class TestIncrementalPredicates(BaseIncrementalPredicates):
    """A merge that looks at some rows only, and puts a key there twice."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        """Let keys repeat."""
        predicates = {"+incremental_predicates": ["DBT_INTERNAL_DEST.id != 2"]}
        merged = {"+incremental_strategy": "merge", "+tblproperties": {"primaryKey": ""}}
        return {"models": {**predicates, **merged}}


class TestMicrobatch(BaseMicrobatch):
    """Days that are built anew, each a partition."""

    @pytest.fixture(scope="class")
    def microbatch_model_sql(self) -> str:
        """Return the suite's model, with days as partitions."""
        return (
            "{{ config(materialized='incremental', incremental_strategy='microbatch',"
            " event_time='event_time', batch_size='day', partition_by='days(event_time)',"
            " begin=modules.datetime.datetime(2020, 1, 1, 0, 0, 0)) }}"
            " select * from {{ ref('input_model') }}"
        )


@pytest.mark.slow
class TestUniqueKey(BaseIncrementalUniqueKey):
    """Keys of one column and of three, of none, and of one that is not there."""

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        """Let keys repeat; Spark puts no text into a date."""
        merged = {"+incremental_strategy": "merge", "+tblproperties": {"primaryKey": ""}}
        return {
            "models": merged,
            "seeds": {"test": {"seed": {"+column_types": {"last_visit_date": "string"}}}},
        }


@pytest.mark.slow
class TestSimpleSnapshot(BaseSimpleSnapshot):
    """Rows come, change, go and come again."""


class TestSnapshotCheck(BaseSnapshotCheck):
    """Only the columns that are looked at make history."""
