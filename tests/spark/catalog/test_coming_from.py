"""docs/coming-from.md: its last column is run, row by row, and what is not offered is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import arctic
from arctic.cli.main import main
from tests.spark.catalog.sql import Sql

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PAGE = (Path(__file__).parents[3] / "docs" / "coming-from.md").read_text(encoding="utf-8")
KEYED = "CREATE TABLE arctic.shop.{} (id BIGINT, city STRING, n BIGINT) TBLPROPERTIES ({})"
RUN: dict[str, tuple[str, ...]] = {
    "begin": ("arctic.register(spark)",),
    "begin without Python: a shell, JDBC, Connect": ("arctic spark-conf --warehouse elsewhere",),
    "use no Spark": (
        "arctic.write('shop.w', rows, mode='append', options={'primaryKey': ''})",
        "arctic.read('shop.w')",
    ),
    "name a table": (),
    "make a table with a key": (
        "CREATE TABLE t (id BIGINT, city STRING, PRIMARY KEY (id))",
        "CREATE TABLE arctic.shop.keyed (id BIGINT) TBLPROPERTIES (primaryKey = 'id')",
    ),
    "make it from a query": (
        "CREATE TABLE arctic.shop.made AS SELECT 1 AS id",
        "CREATE OR REPLACE TABLE arctic.shop.made AS SELECT 2 AS id",
    ),
    "partition it": (
        "CREATE TABLE arctic.shop.parts (id BIGINT, at TIMESTAMP) "
        "PARTITIONED BY (days(at), bucket(16, id))",
    ),
    "take a plain table over, and give it back": (
        'arctic.adopt("shop.plain", primary_key="id")',
        "arctic.release('shop.plain')",
    ),
    "see what there is": (
        "SHOW TABLES IN arctic.shop",
        "DESCRIBE EXTENDED t",
        "SHOW CREATE TABLE t",
        "arctic tables",
        "arctic show shop.users",
    ),
    "upsert a frame": (
        'df.write.format("arctic").mode("upsert").save("shop.users")',
        "INSERT INTO t VALUES (3, 'Lima')",
    ),
    "say which of two rows of a key wins": (
        "arctic.create_table('shop.o', numbers, primary_key='id', ordering_columns=['n'])",
        KEYED.format("o2", "primaryKey = 'id', 'write.ordering-columns' = 'n'"),
        "df.write.format('arctic').option('ordering-column', 'city').mode('upsert')"
        ".save('shop.users')",
    ),
    "keep the first row of a key": (
        KEYED.format("first", "primaryKey = 'id', 'write.merge-engine' = 'first-row'"),
    ),
    "update some columns, or add up": (
        KEYED.format("part", "primaryKey = 'id', 'write.merge-engine' = 'partial-update'"),
        KEYED.format("agg", "primaryKey = 'id', 'write.merge-engine' = 'aggregate'"),
    ),
    "merge in SQL": (
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED THEN INSERT *",
    ),
    "merge in Python": (
        "users.merge(rows).when_matched_update_all().when_not_matched_insert_all().execute()",
        'users.merge(rows, on="t.id = s.id", source_alias="s", target_alias="t")'
        ".when_matched_update_all().execute()",
    ),
    "delete, update": (
        "DELETE FROM t WHERE id = 99",
        "UPDATE t SET city = 'Bern' WHERE id = 3",
        "users.delete(\"city = 'Oslo'\")",
        "users.update('id = 3', set={'city': \"'Kyiv'\"})",
    ),
    "delete by key": (
        "df.select('id').limit(0).write.format('arctic').mode(\"delete\").save('shop.users')",
    ),
    "apply a change stream with operations": (
        "df.selectExpr('*', \"'+I' AS op\").write.format('arctic').option('action-column', 'op')"
        ".mode('upsert').save('shop.users')",
        "arctic.apply_changes",
    ),
    "load keys that are new, without looking": (
        "df.selectExpr('id + 100 AS id', 'city').write.format('arctic').mode(\"append\")"
        ".save('shop.users')",
        "ALTER TABLE arctic.shop.keyed SET TBLPROPERTIES ('write.insert-mode' = 'append')",
    ),
    "replace a table or partitions": (
        "CREATE TABLE arctic.shop.cities (id BIGINT, city STRING) PARTITIONED BY (city)",
        "INSERT OVERWRITE arctic.shop.cities PARTITION (city = 'Rome') SELECT 1",
        "SET spark.sql.sources.partitionOverwriteMode = dynamic",
        "INSERT OVERWRITE arctic.shop.cities VALUES (2, 'Oslo')",
        "SET spark.sql.sources.partitionOverwriteMode = static",
        "INSERT OVERWRITE arctic.shop.parts VALUES (1, TIMESTAMP '2026-01-01')",
    ),
    "write a frame that lacks columns": (
        "refuse(df.select('id').write.format('arctic').mode('upsert').save)",
        "df.select('id').write.format('arctic').option('missing-columns', 'keep').mode('upsert')"
        ".save('shop.users')",
        "arctic.write('shop.users', rows.select(['id']), mode='upsert',"
        " options={'missing-columns': 'null'})",
    ),
    "change columns": (
        "ALTER TABLE t ADD COLUMN more INT",
        "ALTER TABLE t RENAME COLUMN more TO most",
        "ALTER TABLE t ALTER COLUMN most TYPE BIGINT",
        "ALTER TABLE t DROP COLUMN most",
        "users.evolve_schema(add={'x': pa.int64()})",
        "users.evolve_schema(drop=['x'])",
        "arctic evolve shop.users --add y=int",
        "arctic evolve shop.users --widen y=long",
        "arctic evolve shop.users --drop y",
    ),
    "let a write add columns": (
        "df.selectExpr('*', '1 AS y').write.format('arctic').option('mergeSchema', 'true')"
        ".mode('upsert').save('shop.users')",
        "INSERT WITH SCHEMA EVOLUTION INTO t SELECT 1L AS id, 'Rome' AS city, 1 AS y, 2 AS z",
        "ALTER TABLE t DROP COLUMNS (y, z)",
    ),
    "build models with dbt": (),
    "write a stream exactly once": (
        "arctic.create_table('shop.streamed', rows.schema, primary_key='id')",
        "spark.readStream.format('rate').load().selectExpr('value AS id', \"'x' AS"
        ' city").writeStream'
        ".format('arctic').option('checkpointLocation', folder).trigger(availableNow=True)"
        ".start('shop.streamed').awaitTermination()",
    ),
    "copy a database": (
        "arctic cdc postgres --help",
        "arctic cdc mysql --help",
        "arctic cdc kafka --help",
    ),
    "read": ("spark.table('t')", 'arctic.read("shop.users")'),
    "read only settled rows": (),
    "go back in time": (
        "SELECT * FROM t VERSION AS OF 1",
        "SELECT * FROM t TIMESTAMP AS OF now()",
        "arctic.read('shop.users', version=1)",
        "arctic.read('shop.users', as_of=now())",
    ),
    "read what changed": (
        "arctic.read_changes('shop.users')",
        "SELECT * FROM t CHANGES FROM VERSION 2",
    ),
    "follow changes": (
        "spark.readStream.format('arctic').option('change-rows', 'commits').load('shop"
        ".users').schema",
    ),
    "keep what a query returns": (
        'arctic.materialize("SELECT city, count(*) FROM shop.users GROUP BY city",'
        ' into="shop.totals")',
        "arctic.refresh('shop.totals')",
    ),
    "let other engines see the newest rows": (
        'arctic.publish("shop.users")',
        "df.write.format('arctic').option('publish', 'auto').mode('upsert').save('shop.users')",
        "arctic.unpublish('shop.users')",
    ),
    "look at files, snapshots, partitions": (
        "SELECT * FROM t.files",
        "SELECT * FROM t.snapshots",
        "SELECT * FROM t.partitions",
        'users.inspect("files")',
    ),
    "see what a read will do": ("EXPLAIN SELECT * FROM t", "arctic explain shop.users"),
    "compact": (
        "users.optimize()",
        "arctic optimize shop.users",
        "CALL arctic.system.optimize('shop.users')",
        "arctic.write('shop.users', rows, options={'optimize': 'auto'})  # optimize=auto",
    ),
    "compact on a cluster": ('arctic.optimize("shop.users", spark=spark)',),
    "have it done": ("arctic serve --once",),
    "know whether it is needed": ("users.status()",),
    "sort": (
        "CREATE TABLE arctic.shop.clustered (id BIGINT, lat INT, lon INT) CLUSTER BY (lat, lon)",
        "ALTER TABLE arctic.shop.clustered CLUSTER BY (lon)",
        "ALTER TABLE arctic.shop.clustered CLUSTER BY NONE",
        "ALTER TABLE arctic.shop.clustered SET TBLPROPERTIES ('self-optimizing.sort-columns' = "
        "'id, hilbert(lat, lon)')",
    ),
    "find single values": (
        "ALTER TABLE arctic.shop.clustered SET TBLPROPERTIES ('write.index-columns' = 'lat')",
    ),
    "remove old snapshots and files": (
        "users.expire(dry_run=True)",
        "users.clean_orphans(dry_run=True)",
        "users.expire()",
        "users.clean_orphans()",
        "CALL arctic.system.expire('shop.users', dry_run => true)",
    ),
    "let rows become too old": (
        "ALTER TABLE arctic.shop.parts SET TBLPROPERTIES ('data-expire.enabled' = 'true', "
        "'data-expire.field' = 'at', 'data-expire.retention-time' = '30d')",
        "CALL arctic.system.expire('shop.parts')",
    ),
    "list commits": ("users.versions()", "arctic history shop.users"),
    "go back": (
        "users.restore(3)",
        "CALL arctic.system.restore('shop.users', 3)",
        "users.rollback_to_snapshot",
    ),
    "copy a table without its files": (
        'arctic.clone("shop.users", "shop.copy")',
        "DROP TABLE arctic.shop.copy",
        "CALL arctic.system.clone('shop.users', 'shop.copy')",
    ),
    "name a state, and keep it": (
        'users.tag("x")',
        "users.drop_tag('x')",
        "CALL arctic.system.create_tag('shop.users', 'x')",
    ),
    "write beside the table, look, publish": (
        "CREATE TABLE arctic.shop.hits AS SELECT 1 AS id",
        "CALL arctic.system.create_branch('shop.hits', 'x')",
        "INSERT INTO arctic.shop.hits.branch_x VALUES (2)",
        "SET spark.wap.branch=x",
        "RESET spark.wap.branch",
        "CALL arctic.system.fast_forward('shop.hits', 'main', 'x')",
    ),
    "put a table under another name": (
        "ALTER TABLE arctic.shop.keyed RENAME TO arctic.shop.keys",
        'users.rename("shop.people")',
    ),
}
"""What a row offers, as it is run: SQL, a command or Python; `t` is `arctic.shop.users`."""
REFUSED = (
    "ALTER TABLE t CREATE BRANCH b",
    "CREATE VIEW arctic.shop.v AS SELECT 1 AS id",
    "CREATE TABLE arctic.shop.no (id BIGINT DEFAULT 1)",
    "CREATE TABLE arctic.shop.no (id BIGINT, n BIGINT GENERATED ALWAYS AS (id + 1))",
    "CREATE TABLE arctic.shop.no (id BIGINT GENERATED ALWAYS AS IDENTITY)",
    "CREATE TABLE arctic.shop.no (id BIGINT, CONSTRAINT c CHECK (id > 0))",
    "CREATE TABLE arctic.shop.no (id BIGINT, v VARIANT)",
    "CREATE TABLE arctic.shop.no (id BIGINT, v INTERVAL DAY)",
    "INSERT INTO t REPLACE WHERE id = 1 SELECT * FROM t",
    "ALTER TABLE t ADD PARTITION FIELD bucket(4, id)",
    "OPTIMIZE t ZORDER BY (city)",
    "CONVERT TO DELTA t",
)


def rows_of_page() -> Iterator[tuple[str, str]]:
    """Return what one wants, and what the page says that one writes here."""
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 3 and cells[0] not in ("to", "---"):
            yield re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cells[0]), cells[2]


def test_every_row_is_run_as_it_is_written() -> None:
    """Each piece of code of a row stands in what is run; `...` is anything."""
    page = dict(rows_of_page())
    assert list(page) == list(RUN)
    missing = []
    for name, said in page.items():
        code = " ".join(RUN[name]).replace("'", '"')
        unlinked = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", said).replace("``", "")
        for piece in re.findall(r"`([^`]+)`", unlinked):
            wanted = (
                re.escape(piece.replace("'", '"')).replace(r"\.\.\.", ".*").replace(r"\*", ".*")
            )
            if not re.search(wanted, code) and piece not in EXPLAINED:
                missing.append((name, piece))
    assert missing == []


EXPLAINED = {"pip install", "upsert", "null", "keep", "full", "commits", "auto", "dry_run=True"}
"""Words, not code."""


def test_what_the_page_says_works(
    sql: Sql, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row in the order of the page, on the same table."""
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {"arctic": arctic, "spark": spark, "pa": pa, "refuse": _refuse}
    known |= {"folder": str(tmp_path / "checkpoint"), "now": lambda: datetime.now(timezone.utc)}
    known["numbers"] = pa.schema([("id", pa.int64()), ("n", pa.int64())])
    known["rows"] = pa.table({"id": pa.array([1, 2], pa.int64()), "city": ["Rome", "Oslo"]})
    arctic.write("shop.users", known["rows"], mode="upsert", options={"primaryKey": "id"})
    sql("DROP TABLE arctic.shop.users")
    uri = f"sqlite:///{sql.warehouse}/catalog.db"
    plain = SqlCatalog("arctic", uri=uri, warehouse=f"file://{sql.warehouse}")
    plain.create_table("shop.plain", known["rows"].schema).append(known["rows"])
    plain.close()
    spark.createDataFrame(
        [(2, "Bern"), (4, "Kyiv")], "id long, city string"
    ).createOrReplaceTempView("s")
    known["df"] = spark.table("s")
    failed: list[str] = []
    for name, lines in RUN.items():
        for line in lines:
            try:
                _run(sql, line, known)
            except Exception as error:  # noqa: BLE001 - all are told at once
                failed.append(f"{name}: {line}: {type(error).__name__}: {error}"[:400])
            if line.startswith("CREATE TABLE t "):
                known["users"] = arctic.open_table("shop.users")
    spark.catalog.dropTempView("s")
    assert not failed, "\n".join(failed)
    for statement in REFUSED:
        with pytest.raises(PySparkException):
            sql(re.sub(r"\bt\b", "arctic.shop.people", statement))


def _run(sql: Sql, line: str, known: dict[str, Any]) -> None:
    if re.match(r"[A-Z]{3}", line):
        sql(re.sub(r"(?<!')\bt\b", "arctic.shop.users", line))
    elif line.startswith("arctic "):
        with pytest.raises(SystemExit) as ended:
            main(line.split()[1:])
        assert not ended.value.code
    else:
        exec(line.replace("'t'", "'arctic.shop.users'"), known)


def _refuse(save: Callable[[str], None]) -> None:
    with pytest.raises(arctic.InvalidInputError, match="lacks city"):
        save("shop.users")
