"""A batch of messages of two tables, while a commit to one of them lands right before theirs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

import arctic
from tests.catalogs.both_stores import SCHEMA, Before, before_commits_in_sql
from tests.catalogs.verbs import pairs

NAMES = ("db.one", "db.two")


def check_one_transaction(catalog: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog in a database is asked once for all tables, and once more after a lost race."""
    asked: list[str] = []
    commit = SqlCatalog.commit_table

    def commit_table(own: SqlCatalog, table: Table, *given: object) -> object:
        asked.append(".".join(table.name()))
        return commit(own, table, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(SqlCatalog, "commit_table", commit_table)
    check_a_batch_of_two_tables(catalog, before_commits_in_sql(monkeypatch))
    assert asked == ["db.one_change_"] * 4  # one of these is somebody else's


def check_a_batch_of_two_tables(catalog: Mapping[str, str], before: Before) -> None:
    """Each table has it once, whoever was faster."""
    seen = []

    def somebody_else() -> None:
        seen.append(counts(catalog))
        rows = pa.table({"id": [7], "city": ["Oslo"]}, schema=SCHEMA)
        arctic.write(NAMES[0], rows, mode="upsert", catalog=catalog)

    # Rows of the second table move between partitions, so its base is compared as well.
    for name, partitions in zip(NAMES, ([], ["city"]), strict=True):
        arctic.create_table(
            name, SCHEMA, primary_key=["id"], partition_by=partitions, catalog=catalog
        )
    apply(catalog, 1, "Rome")
    assert counts(catalog) == [2, 2]

    before(somebody_else)
    apply(catalog, 2, "Lima")
    apply(catalog, 2, "Lima")

    assert seen == [[2, 2]]
    read = partial(arctic.read, catalog=catalog)
    assert pairs(read(NAMES[0]).read_all()) == [(1, "Lima"), (2, "Lima"), (7, "Oslo")]
    assert pairs(read(NAMES[1]).read_all()) == [(1, "Lima"), (2, "Lima")]


def counts(catalog: Mapping[str, str]) -> list[int]:
    """Count the rows of each table."""
    return [arctic.open_table(name, catalog=catalog).count() for name in NAMES]


def apply(catalog: Mapping[str, str], batch: int, city: str) -> None:
    """Apply two rows of each table."""
    messages = [
        json.dumps({"op": "c", "after": {"id": key, "city": city}, "source": source})
        for key in (1, 2)
        for source in ({"schema": "public", "table": table} for table in ("one", "two"))
    ]
    arctic.apply_changes(
        messages,
        envelope="debezium",
        tables={"public.one": NAMES[0], "public.two": NAMES[1]},
        quarantine="db.bad",
        writer="topic",
        batch_id=batch,
        catalog=catalog,
    )
