"""DELETE, UPDATE and MERGE of the catalog's tables: one commit each, or an error and none."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import arctic
from arctic.job.edit import small_edit
from arctic.job.edit.merging.small_merge import small_merge
from arctic.job.write.commit_write import commit_write
from arctic.retry import RetryPolicy
from arctic.spark.catalog import row_level
from arctic.spark.write.write_frame import write_frame
from tests.spark.catalog.small_plans import small_plans

pytestmark = pytest.mark.spark

Rows = list[tuple[Any, ...]]
UPSERT = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


class Shop:
    """A table of one warehouse, told in statements about ``t``."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def __call__(self, statement: str) -> Rows:
        """Run a statement; ``{t}`` is the table."""
        return [tuple(row) for row in self.spark.sql(statement.format(t="arctic.shop.t")).collect()]

    @property
    def rows(self) -> Rows:
        """All rows as Spark sees them, in order."""
        return sorted(self("SELECT * FROM {t}"), key=repr)

    @property
    def stored(self) -> Rows:
        """The same as a reader without Spark sees them, which takes a tenth of the time."""
        found = arctic.read("shop.t").read_all().to_pylist()
        return sorted((tuple(row.values()) for row in found), key=repr)

    @property
    def commits(self) -> int:
        """How often the table has been committed to."""
        return int(arctic.open_table("shop.t").history().num_rows)

    def begin(self, columns: str, values: str | None = None) -> None:
        """Make the table anew."""
        self("DROP TABLE IF EXISTS {t}")
        self(f"CREATE TABLE {{t}} {columns}")
        if values is not None:
            self(f"INSERT INTO {{t}} VALUES {values}")

    def once(self, statement: str) -> Rows:
        """Run a statement that makes one commit, and return the rows after it."""
        before = self.commits
        self(statement)
        assert self.commits == before + 1, statement
        return self.stored

    def refused(self, statement: str) -> PySparkException:
        """Return the error of a statement, which has left the table as it was."""
        before, rows = self.commits, self.stored
        with pytest.raises(PySparkException) as caught:
            self(statement)
        assert "Traceback" not in str(caught.value)
        assert (self.commits, self.stored) == (before, rows)
        return caught.value


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """In a warehouse of its own; rows are few."""
    monkeypatch.setenv("ARCTIC_WAREHOUSE", str(tmp_path / "warehouse"))
    with small_plans(spark):
        yield Shop(spark)


KEYED = "(id BIGINT NOT NULL, v STRING, n INT, PRIMARY KEY (id))"


def test_keys_move_with_their_rows_and_none_is_lost(shop: Shop) -> None:
    """A key changes as a delete and an insert; where two rows would have one key, none changes."""
    shop.begin(KEYED, "(1, 'a', 1), (2, 'b', 2), (3, 'c', 3)")

    assert shop.once("UPDATE {t} SET id = 3 - id WHERE id < 3") == [
        (1, "b", 2),
        (2, "a", 1),
        (3, "c", 3),
    ]
    assert shop.once("UPDATE {t} SET id = id + 1") == [(2, "b", 2), (3, "a", 1), (4, "c", 3)]
    assert "id=9" in str(shop.refused("UPDATE {t} SET id = 9 WHERE id < 4"))
    assert "id=4" in str(shop.refused("UPDATE {t} SET id = 4 WHERE id = 2"))
    assert shop.once(
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (2, 20), (3, 2) v(id, new)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET id = s.new WHEN NOT MATCHED BY SOURCE THEN DELETE"
    ) == [(2, "a", 1), (20, "b", 2)]
    # A source that finds rows by something else than their key may insert one that is there.
    error = shop.refused(
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (2, 'z') v(id, v)) s ON t.v = s.v "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"
    )
    assert "id=2" in str(error)
    assert "NOT_NULL_ASSERT_VIOLATION" in str(shop.refused("UPDATE {t} SET id = null"))


def test_a_row_is_changed_by_one_row_of_the_source_at_most(shop: Shop) -> None:
    """Whether the table is read or not, and whether the key is stored or not."""
    shop.begin(KEYED, "(1, 'a', 1)")
    twice = (
        "MERGE INTO {{t}} t USING (SELECT * FROM "
        "VALUES ({0}L, 'x', 1), ({0}L, 'y', 2) v(id, v, n)) s ON t.id = s.id "
    )

    for statement in (
        twice.format(1) + "WHEN MATCHED THEN UPDATE SET n = t.n + s.n",
        twice.format(1) + UPSERT,
        twice.format(7) + UPSERT,
        twice.format(1).replace("SELECT", "SELECT /*+ REPARTITION(2, n) */") + UPSERT,
    ):
        assert shop.refused(statement).getCondition() == "MERGE_CARDINALITY_VIOLATION", statement
    several = shop.refused(twice.format(7) + "WHEN NOT MATCHED THEN INSERT *")
    assert "several rows have the key (id=7)" in str(several)
    both = twice.format(7) + "WHEN MATCHED THEN UPDATE SET n = t.n WHEN NOT MATCHED THEN INSERT *"
    assert "several rows have the key (id=7)" in str(shop.refused(both))
    assert shop.once(twice.format(1) + "WHEN MATCHED THEN DELETE") == []
    shop("ALTER TABLE {t} SET TBLPROPERTIES ('write.insert-mode' = 'append')")
    shop("INSERT INTO {t} VALUES (1, 'a', 1), (1, 'b', 1)")
    merge = "MERGE INTO {t} t USING (SELECT 1L id) s ON t.id = s.id WHEN MATCHED THEN "
    for statement in ("UPDATE {t} SET n = n + 1", merge + "UPDATE SET n = t.n + 1"):
        assert "several rows have the key (id=1)" in str(shop.refused(statement))


def test_a_merge_that_needs_nothing_of_stored_rows_reads_none(shop: Shop, tmp_path: Path) -> None:
    """It works without the table's files, in a new session too; one that needs them does not."""
    other = Shop(shop.spark.newSession())
    shop.begin(KEYED, "(1, 'a', 1), (2, 'b', 2), (3, 'c', 3)")
    files = [path for path in tmp_path.rglob("*.parquet") if path.is_file()]
    assert files
    aside = {path: tmp_path / f"aside{number}" for number, path in enumerate(files)}
    for path, place in aside.items():
        shutil.move(path, place)

    merge = (
        "MERGE INTO {t} t USING "
        "(SELECT * FROM VALUES (2L, 'B', 20), (4L, 'd', 4) v(id, v, n)) s ON s.id = t.id "
    )
    shop(merge + UPSERT)
    other(merge.replace("20", "21") + UPSERT)
    shop("MERGE INTO {t} t USING (SELECT 3 id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    shop(
        "MERGE INTO {t} t USING "
        "(SELECT * FROM VALUES (4L, 'D', 0), (5L, 'e', 5) v(id, v, n)) s ON t.id = s.id "
        "WHEN MATCHED AND s.v = 'D' THEN DELETE WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED AND s.v <> 'D' THEN INSERT *"
    )
    with pytest.raises(PySparkException):
        shop(merge + "WHEN MATCHED THEN UPDATE SET n = t.n + 1")
    for path, place in aside.items():
        shutil.move(place, path)
    assert shop.rows == [(1, "a", 1), (2, "B", 21), (5, "e", 5)]


def test_an_insert_is_never_an_update(shop: Shop) -> None:
    """Nor where Spark has cached an older state of the table, or has no join to make."""
    shop.begin(KEYED, "(1, 'a', 1)")
    insert = "WHEN NOT MATCHED THEN INSERT *"
    source = "MERGE INTO {t} t USING (SELECT * FROM VALUES (2L, 'new', 0) v(id, v, n)) s ON "

    shop("CACHE TABLE {t}")
    upsert(2)
    shop(source + "t.id = s.id " + insert)
    shop("UNCACHE TABLE {t}")
    assert shop.rows == [(1, "a", 1), (2, "beside", 2)]
    shop(source + "t.id = s.id " + insert)
    assert shop.rows == [(1, "a", 1), (2, "beside", 2)]
    if pyspark.__version__ >= "4.3":
        assert "id=2" in str(shop.refused(source + "false " + insert))
    shop(source.replace("2L", "3L") + "false " + insert)
    assert shop.rows == [(1, "a", 1), (2, "beside", 2), (3, "new", 0)]


def test_zeros_of_both_signs_are_two_keys(shop: Shop) -> None:
    """Which Spark takes for equal, so a row moves from one to the other."""
    shop.begin("(x DOUBLE NOT NULL, n INT, PRIMARY KEY (x))", "(0D, 1), (3D, 3)")

    shop(
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (-0D, 5), (3D, 6) v(x, n)) s ON t.x = s.x "
        + UPSERT
    )
    assert sorted(shop("SELECT n FROM {t}")) == [(5,), (6,)]


def test_rows_move_between_partitions(shop: Shop) -> None:
    """With keys of one column and of several, and a required column beside them."""
    shop.begin(
        "(id INT, part STRING, n INT NOT NULL, PRIMARY KEY (id)) PARTITIONED BY (part)",
        "(1, 'x', 1), (2, 'x', 2), (3, 'y', 3)",
    )
    assert shop.once("UPDATE {t} SET part = 'y' WHERE id = 1")[0] == (1, "y", 1)
    assert shop.once("UPDATE {t} SET id = 4 - id, part = 'z' WHERE part = 'y'") == [
        (1, "z", 3),
        (2, "x", 2),
        (3, "z", 1),
    ]
    merge = (
        "MERGE INTO {t} t USING "
        "(SELECT * FROM VALUES (1, 'x', 7), (9, 'x', 9) v(id, part, n)) s ON t.id = s.id "
    )
    assert shop.once(merge + UPSERT) == [(1, "x", 7), (2, "x", 2), (3, "z", 1), (9, "x", 9)]
    shop.refused(merge.replace("9, 'x', 9", "9, 'x', null") + UPSERT)
    assert shop.once("DELETE FROM {t} WHERE part = 'x' AND n > 2") == [(2, "x", 2), (3, "z", 1)]


COLUMNS = {
    "n": ("INT", "7", "n + 2 * n", "n - m"),
    "big": ("BIGINT", "-1", "big * 3"),
    "x": ("DOUBLE", "0.1D", "NULL"),
    "price": ("DECIMAL(9, 2)", "7.25", "NULL"),
    "day": (
        "DATE",
        "DATE '2024-02-29'",
    ),
    "at": (
        "TIMESTAMP",
        "TIMESTAMP '2024-02-29 23:59:59.123456'",
    ),
    "wall": (
        "TIMESTAMP_NTZ",
        "TIMESTAMP_NTZ '1969-12-31 23:59:59'",
    ),
    "raw": (
        "BINARY",
        "X'00FF'",
    ),
    "text": ("STRING", "'it''s \u00e9'", "other"),
    "flag": ("BOOLEAN", "false", "NULL"),
}


def test_small_changes_by_plain_values_need_no_job(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And leave the same rows, of whatever type, as the tasks of Spark do."""
    kinds = ", ".join(f"`{name}` {of[0]}" for name, of in COLUMNS.items())
    first = ", ".join(of[1] for of in COLUMNS.values())
    columns = f"(id BIGINT NOT NULL, m INT, other STRING, {kinds}, PRIMARY KEY (id))"
    nothing = ", ".join("NULL" for _ in COLUMNS)
    values = f"(1, 1, 'o', {first}), (2, 2, 'p', {nothing}), (3, 3, NULL, {first})"
    statements = [
        f"UPDATE {{t}} SET `{name}` = {value} WHERE m < 3 AND other IN ('o', 'p')"
        for name, of in COLUMNS.items()
        for value in of[1:]
    ]
    whole = ", ".join(f"`{name}` = {of[-1]}" for name, of in COLUMNS.items())
    statements += [
        f"UPDATE {{t}} SET {whole} WHERE other IS NULL OR NOT (m <= 1)",
        "DELETE FROM {t} WHERE `text` = 'o' AND m > 0",
    ]
    jobs, found = [], []

    for most in (-1, small_edit.MOST_ROWS):
        monkeypatch.setattr(small_edit, "MOST_ROWS", most)
        shop.begin(columns, values)
        shop.spark.sparkContext.setJobGroup(f"small {most}", "counted")
        found.append([shop.once(statement) for statement in statements])
        context = shop.spark.sparkContext
        jobs.append(len(context.statusTracker().getJobIdsForGroup(f"small {most}")))
        context.setJobGroup("others", "not counted")

    assert found[0] == found[1]
    assert len({str(rows) for rows in found[0]}) > len(COLUMNS)
    assert jobs[0] >= len(statements)
    assert jobs[1] == 0


def test_a_merge_of_columns_by_the_key_leaves_what_tasks_leave(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns of any type from few rows of a source, read once; the whole of it is one commit."""
    kinds = ", ".join(f"`{name}` {of[0]}" for name, of in COLUMNS.items())
    nothing = ", ".join("NULL" for _ in COLUMNS)
    columns = f"(k DATE NOT NULL, m INT, other STRING, {kinds}, PRIMARY KEY (k, m))"
    days = [f"DATE '1969-12-3{day}'" for day in (0, 1)]
    values = ", ".join(f"({day}, {m}, 'o', {nothing})" for day in days for m in (1, 2))
    given = ", ".join(f"CAST({of[1]} AS {of[0]}) `{name}`" for name, of in COLUMNS.items())
    source = (
        f"(SELECT {days[0]} k, m, {given} FROM VALUES (1), (9), (NULL) v(m) UNION ALL "
        f"SELECT NULL, 2, {given})"
    )
    merge = f"MERGE INTO {{t}} t USING {source} s ON s.k <=> t.k AND t.m = s.m WHEN MATCHED THEN "
    sets = [
        "UPDATE SET " + ", ".join(f"`{name}` = s.`{name}`" for name in COLUMNS),
        "UPDATE SET n = t.m + s.m * t.n, other = s.text, big = -1",
        "UPDATE SET m = s.m, other = NULL, n = s.n - t.n",
    ]
    merged, found = small_merge_of(monkeypatch), []

    for most in (-1, small_edit.MOST_ROWS):
        monkeypatch.setattr(small_edit, "MOST_ROWS", most)
        shop.begin(columns, values)
        found.append([shop.once(merge + what) for what in sets])

    assert found[0] == found[1]
    assert len({str(rows) for rows in found[0]}) == len(sets)
    assert merged == [False] * len(sets) + [True] * len(sets)


def small_merge_of(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return where it is noted of each MERGE that may be small whether it was."""
    merged: list[bool] = []

    def noted(*given: Any) -> Any:
        done = small_merge(*given)
        merged.append(done is not None)
        return done

    monkeypatch.setattr(row_level, "small_merge", noted)
    return merged


def test_a_merge_that_says_more_is_done_by_tasks(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conditions, other clauses, casts of the table's key, values that are computed, many rows."""
    merged, few = small_merge_of(monkeypatch), "(SELECT * FROM VALUES (1L, 5), (2L, 6) v(id, n))"
    merge = f"MERGE INTO {{t}} t USING {few} s ON "
    matched = " WHEN MATCHED THEN UPDATE SET n = s.n"
    shop.begin("(id BIGINT NOT NULL, n INT, PRIMARY KEY (id))", "(1, 1), (2, 2), (3, 3)")
    for statement in (
        merge + "t.id = s.id WHEN MATCHED AND t.n > 1 THEN UPDATE SET n = s.n",
        merge + "t.id = s.id AND t.n > 1" + matched,
        merge + "t.id = s.id WHEN MATCHED THEN UPDATE SET n = abs(s.n)",
        merge + "CAST(t.id AS STRING) = s.id" + matched,
        merge + "t.id = s.id" + matched + " WHEN NOT MATCHED BY SOURCE THEN DELETE",
        merge + "t.id = s.id" + matched + " WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, 1)",
    ):
        shop(statement)
    assert merged == []
    monkeypatch.setattr(row_level, "MOST_SOURCE_ROWS", 1)
    assert shop.once(merge + "t.id = s.id" + matched)[0] == (1, 5)
    assert merged == []


def test_what_became_of_rows_is_told_alike_whoever_changed_them(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though events of tasks lack the old row, also where it was in another partition."""
    columns = "(id BIGINT NOT NULL, n INT, s STRING, PRIMARY KEY (id)) PARTITIONED BY (s)"
    statements = (
        "UPDATE {t} SET n = 7 WHERE id < 2",
        "UPDATE {t} SET s = 'z' WHERE id > 1",
        "MERGE INTO {t} t USING (SELECT 1L k, 5 n) s ON t.id = s.k "
        "WHEN MATCHED THEN UPDATE SET n = t.n + s.n",
        "DELETE FROM {t} WHERE id = 3",
    )
    found = []
    for most in (-1, small_edit.MOST_ROWS):
        monkeypatch.setattr(small_edit, "MOST_ROWS", most)
        shop.begin(columns, "(1, 1, 'a'), (2, 2, 'b'), (3, 3, NULL)")
        for statement in statements:
            shop.once(statement)
        asked = {"start-version": "1", "change-rows": "commits"}
        told = arctic.open_table("shop.t").read_changes(options=asked).read_all()
        found.append(sorted(told.drop_columns("_commit_timestamp").to_pylist(), key=repr))

    assert found[0] == found[1]
    kinds = sorted(row["_change_type"] for row in found[0])
    assert kinds == ["delete", *["update_postimage"] * 4, *["update_preimage"] * 4]


def test_a_source_of_long_rows_is_taken_only_where_they_are_few(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts may be of any length: only what is sure to fit is taken into this process."""
    merged = small_merge_of(monkeypatch)
    monkeypatch.setattr(row_level, "MOST_WIDE_ROWS", 1)
    shop.begin("(id BIGINT NOT NULL, n INT, v STRING, PRIMARY KEY (id))", "(1, 1, 'a')")
    merge = (
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (1L, 5, 'x'), (2L, 6, 'y') s(id, n, v)) s "
    )
    merge += "ON t.id = s.id WHEN MATCHED THEN UPDATE SET "
    assert shop.once(merge + "n = s.n") == [(1, 5, "a")]
    assert merged == [True]
    assert shop.once(merge + "v = s.v") == [(1, 5, "x")]
    assert merged == [True]


def test_what_spark_alone_can_say_of_a_value_it_says(shop: Shop) -> None:
    """Sums that overflow, also where they are to; conditions on floating numbers; casts."""
    shop.begin("(id BIGINT NOT NULL, n INT, x DOUBLE, PRIMARY KEY (id))", "(1, 2147483647, 2.0)")

    error = shop.refused("UPDATE {t} SET n = n + 1 WHERE id = 1")
    assert error.getCondition() in ("ARITHMETIC_OVERFLOW", "ARITHMETIC_OVERFLOW.WITH_SUGGESTION")
    shop("UPDATE {t} SET x = double('NaN') WHERE id = 1")
    assert shop.once("UPDATE {t} SET n = try_add(n, 1) WHERE id = 1")[0][1] is None
    assert shop.once("UPDATE {t} SET n = 2147483647 WHERE x > 1 AND id = 1")[0][1] == 2**31 - 1
    shop.spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        assert shop.once("UPDATE {t} SET n = n + 1 WHERE id = 1")[0][1] == -(2**31)
    finally:
        shop.spark.conf.unset("spark.sql.ansi.enabled")
    assert shop.once("UPDATE {t} SET n = 2.4 + id WHERE id = 1")[0][1] == 3
    assert shop.once("DELETE FROM {t} WHERE x > 1000") == []


@pytest.fixture
def by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no command done by the process of the session alone."""
    monkeypatch.setattr(small_edit, "MOST_ROWS", -1)


@pytest.fixture
def meanwhile(
    monkeypatch: pytest.MonkeyPatch, by_tasks: None
) -> Callable[[Callable[[], Any], int], None]:
    """Have something done between the reading and the commit of the next commands."""

    def install(action: Callable[[], Any], times: int) -> None:
        left = iter(range(times))

        def slow(frame: Any, job: Any) -> Any:
            if next(left, None) is not None:
                thread = threading.Thread(target=action)
                thread.start()
                thread.join()
            return write_frame(frame, job)

        monkeypatch.setattr("arctic.spark.catalog.row_level.write_frame", slow)

    return install


def upsert(number: int) -> None:
    """Commit to the table beside a statement."""
    rows = {"id": [number], "v": ["beside"], "n": [number]}
    schema = pa.schema([("id", pa.int64()), ("v", pa.string()), ("n", pa.int32())])
    arctic.write("shop.t", pa.table(rows, schema=schema))


def remove(number: int) -> None:
    """Take a row away beside a statement, told as a negative key."""
    arctic.open_table("shop.t").delete(f"id = {-number}")


def test_a_command_is_done_again_if_others_commit_before_it(
    shop: Shop,
    meanwhile: Callable[[Callable[[], Any], int], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So it is as if it had begun after them; when they do not end, it is a conflict.

    Whatever the warehouse is called: what looks like an option there is none.
    """
    monkeypatch.setenv("ARCTIC_WAREHOUSE", str(tmp_path / "version=1"))
    shop.begin(KEYED, "(1, 'a', 1)")

    meanwhile(lambda: upsert(2), 1)
    shop("UPDATE {t} SET n = n + 10")
    assert shop.rows == [(1, "a", 11), (2, "beside", 12)]
    # Whoever only puts rows into other files is in nobody's way.
    meanwhile(lambda: arctic.optimize("shop.t", type="full"), 9)
    shop("UPDATE {t} SET n = n + 1 WHERE id = (SELECT max(id) FROM {t})")
    shop(
        "MERGE INTO {t} t USING (SELECT 2L id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 12"
    )
    assert shop.rows == [(1, "a", 11), (2, "beside", 12)]

    monkeypatch.setattr("arctic.spark.catalog.row_level.COMMANDS", RetryPolicy(retries=4))
    meanwhile(lambda: upsert(3), 9)
    with pytest.raises(PySparkException, match="other commits came after its rows were read"):
        shop("DELETE FROM {t} WHERE n > 0")
    assert shop.rows == [(1, "a", 11), (2, "beside", 12), (3, "beside", 3)]
    # What reads nothing has nothing to do again, and a subquery that has read cannot.
    meanwhile(lambda: upsert(4), 1)
    shop(
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (1L, 'x', 1) v(id, v, n)) s ON t.id = s.id "
        + UPSERT
    )
    assert shop.rows[0] == (1, "x", 1)
    meanwhile(lambda: upsert(5), 1)
    with pytest.raises(PySparkException, match="run it again"):
        shop("UPDATE {t} SET n = (SELECT max(n) FROM {t} WHERE v <> 'x')")
    assert shop.rows[0] == (1, "x", 1)
    meanwhile(lambda: upsert(6), 1)
    with pytest.raises(PySparkException, match="run it again"):
        shop(
            "MERGE INTO {t} t USING (SELECT 1L id, 'max' v, (SELECT max(n) FROM {t}) n) s "
            "ON t.id = s.id " + UPSERT
        )
    assert shop.rows[0] == (1, "x", 1)


@pytest.fixture
def coming(monkeypatch: pytest.MonkeyPatch, by_tasks: None) -> list[int]:
    """Keys that others write, one right before each commit of a statement; negative: they go."""
    waiting: list[int] = []

    def late(job: Any, results: Any) -> Any:
        for number in waiting[:1]:
            thread = threading.Thread(target=upsert if number > 0 else remove, args=(number,))
            thread.start()
            thread.join()
        del waiting[:1]
        return commit_write(job, results)

    monkeypatch.setattr("arctic.spark.write.write_frame.commit_write", late)
    return waiting


@pytest.mark.parametrize("columns", [KEYED, "(id BIGINT, v STRING, n INT)"], ids=["key", "no key"])
def test_the_weaker_level_lets_rows_of_others_pass(
    shop: Shop, coming: list[int], columns: str
) -> None:
    """They are as if they had come after a command, which commits at its first try."""
    shop.begin(
        f"{columns} TBLPROPERTIES ('write.isolation-level' = 'snapshot')",
        "(1, 'a', 1), (2, 'b', 2)",
    )

    for statement, number, rows in (
        ("UPDATE {t} SET n = n + 10 WHERE n + 0 > 0", 3, [(1, "a", 11), (2, "b", 12)]),
        ("DELETE FROM {t} WHERE n % 100 = 11", 4, [(2, "b", 12), (3, "beside", 3)]),
        (
            "MERGE INTO {t} t USING (SELECT 4L id) s ON t.id = s.id WHEN MATCHED THEN DELETE "
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = 0",
            5,
            [(2, "b", 0), (3, "beside", 0)],
        ),
    ):
        before = shop.commits
        coming.append(number)
        shop(statement)
        assert (shop.rows, shop.commits) == ([*rows, (number, "beside", number)], before + 2)
    if columns == KEYED:
        # A row that both write is another matter.
        coming.append(2)
        shop("UPDATE {t} SET n = n + 1 WHERE id + 0 = 2")
        assert (shop.rows[0], coming) == ((2, "beside", 3), [])


def test_who_writes_other_rows_is_in_nobodys_way(shop: Shop, coming: list[int]) -> None:
    """A command lands at once beside upserts that never end, unless they change what it reads."""
    shop.begin(KEYED, "(1, 'a', 1), (2, 'b', 2)")
    coming.extend([10, 11, 12])
    shop("UPDATE {t} SET n = n + 1 WHERE n < 5 AND id + 0 > 0")
    shop("DELETE FROM {t} WHERE v = 'b' AND n + 0 = 3")
    source = "SELECT id, 5 n FROM range(1, 2)"
    merge = "MERGE INTO {t} t USING (" + source + ") s ON t.id = s.id WHEN MATCHED "
    insert = " WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"
    shop(merge + "THEN UPDATE SET n = t.n + s.n" + insert)
    beside = [(number, "beside", number) for number in (10, 11, 12)]
    assert (shop.rows, coming) == ([(1, "a", 7), *beside], [])

    coming.extend([1, 13])
    shop("UPDATE {t} SET n = n + 10 WHERE id = 1")
    assert (shop.rows[0], coming) == ((1, "beside", 11), [])
    coming.extend([3, 14])
    shop("UPDATE {t} SET n = 0 WHERE n < 12")
    assert ((3, "beside", 0) in shop.rows, coming) == (True, [])
    coming.extend([1, 15])
    shop(merge + "THEN UPDATE SET n = t.n + s.n" + insert)
    assert (shop.rows[0], coming) == ((1, "beside", 6), [])
    # A row of the source that is inserted under another key is decided by its own one.
    coming.append(30)
    other_key = insert.replace("VALUES (s.id,", "VALUES (s.id + 100,")
    shop(merge.replace("(1, 2)", "(30, 31)") + "THEN UPDATE SET n = s.n" + other_key)
    assert ((30, "beside", 5) in shop.rows, coming) == (True, [])


@pytest.mark.parametrize(
    "source",
    [
        "SELECT id, 5 n FROM range(1, 3)",
        "SELECT k + 0L id, n FROM VALUES (1L, 5), (2L, 5), (NULL, 5) v(k, n)",
        "VALUES (1, 5), (2, 5), (NULL, 5) s(id, n)",
        "SELECT * FROM few",
    ],
    ids=["range", "values", "narrower values", "frame"],
)
def test_a_merge_of_few_rows_is_asked_by_its_keys(
    shop: Shop, coming: list[int], source: str
) -> None:
    """Whatever its clauses leave out, and whatever else its condition asks for."""
    shop.begin(KEYED, "(1, 'a', 10), (2, 'b', 20), (3, 'c', 30)")
    few = shop.spark.createDataFrame([(1, 5), (2, 5), (None, 5)], "id int, n int")
    few.createOrReplaceTempView("few")
    merge = "MERGE INTO {t} t USING (" + source + ") s ON t.id = s.id "
    new = " WHEN NOT MATCHED AND s.id = 1 THEN INSERT (id, n) VALUES (s.id, s.n)"
    for number, more in ((11, ""), (-3, ""), (12, "AND t.v = 'b' ")):
        coming[:] = [number, 13]
        shop(merge + more + "WHEN MATCHED AND t.n > 15 THEN UPDATE SET n = t.n + 1")
        assert coming == [13], "done again"
    assert [row for row in shop.rows if row[0] < 10] == [(1, "a", 10), (2, "b", 23)]
    # One that it leaves as it is comes to a clause, another goes so that its key is new.
    coming[:] = [1]
    shop(merge + "WHEN MATCHED AND t.n IN (1, 23) THEN UPDATE SET n = t.n + 100" + new)
    assert [row for row in shop.rows if row[0] < 10] == [(1, "beside", 101), (2, "b", 123)]
    coming[:] = [-1]
    shop(merge + "WHEN MATCHED AND t.n = 123 THEN UPDATE SET n = 124" + new)
    assert [row for row in shop.rows if row[0] < 10] == [(1, None, 5), (2, "b", 124)]


def test_a_merge_of_one_constant_row_is_asked_by_its_key(shop: Shop, coming: list[int]) -> None:
    """Spark makes a filter of the table of it."""
    shop.begin(KEYED, "(1, 'a', 10), (2, 'b', 20)")
    merge = (
        "MERGE INTO {t} t USING (SELECT 1L id, 5 n) s ON t.id = s.id WHEN MATCHED AND t.n < 5 "
        "THEN DELETE WHEN MATCHED AND t.n < 50 THEN UPDATE SET n = t.n + s.n"
    )
    coming[:] = [2, 13]
    shop(merge)
    assert (shop.rows, coming) == ([(1, "a", 15), (2, "beside", 2)], [13])
    coming[:] = [1]
    shop(merge)
    assert shop.rows == [(2, "beside", 2)]


def test_a_merge_takes_what_is_computed_of_its_source_for_a_key(
    shop: Shop, coming: list[int]
) -> None:
    """Which keys those are is not known before, so a row that comes may be one of them."""
    shop.begin(KEYED, "(1, 'a', 10), (2, 'b', 20)")
    coming[:] = [13, 14]
    shop(
        "MERGE INTO {t} t USING (VALUES (0, 5), (1, 5) s(id, n)) s ON t.id = s.id + 1 "
        "WHEN MATCHED AND t.n > 15 THEN UPDATE SET n = t.n + s.n"
    )
    assert [row for row in shop.rows if row[0] < 10] == [(1, "a", 10), (2, "b", 25)]
    assert coming == []


def test_a_merge_of_many_rows_gives_way_where_it_leaves_some_out(
    shop: Shop, coming: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a row of it that does nothing has met a stored one is not known afterwards."""
    monkeypatch.setattr("arctic.spark.catalog.row_level.COMMANDS", RetryPolicy(retries=1))
    shop.begin(KEYED, "(1, 'a', 10)")
    many = shop.spark.range(10_001).selectExpr("id + 1 AS id", "5 AS n")
    many.createOrReplaceTempView("many")
    coming.extend([16, 17])
    with pytest.raises(PySparkException, match=r"snapshot [0-9]+ \(append\)"):
        shop(
            "MERGE INTO {t} t USING many s ON t.id = s.id WHEN MATCHED AND t.n > 99 THEN "
            "UPDATE SET n = 0 WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"
        )


def test_sources_may_be_anything_that_spark_reads(shop: Shop) -> None:
    """Views, common table expressions, the table itself, frames, subqueries in conditions."""
    shop.begin(KEYED, "(1, 'a', 1), (2, 'b', 2)")
    shop.spark.createDataFrame(
        [(2, "B", 5), (3, "C", 6)], "id long, v string, n int"
    ).createOrReplaceTempView("news")

    shop.once("MERGE INTO {t} t USING news s ON t.id = s.id " + UPSERT)
    assert shop.rows == [(1, "a", 1), (2, "B", 5), (3, "C", 6)]
    shop.once(
        "WITH s AS (SELECT id, n FROM {t} WHERE n > 4) MERGE INTO {t} t USING s ON t.id = s.id "
        "WHEN MATCHED AND t.n = 6 THEN DELETE WHEN MATCHED THEN UPDATE SET n = t.n + s.n"
    )
    assert shop.rows == [(1, "a", 1), (2, "B", 10)]
    shop.once("UPDATE {t} SET v = (SELECT max(v) FROM news) WHERE id IN (SELECT id FROM news)")
    assert shop.rows == [(1, "a", 1), (2, "C", 10)]
    frame = shop.spark.createDataFrame([(1, "z", 0)], "id long, v string, n int").alias("s")
    merge = frame.mergeInto("arctic.shop.t", F.expr("arctic.shop.t.id = s.id"))
    merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert shop.rows == [(1, "z", 0), (2, "C", 10)]
    shop.once("INSERT INTO {t} SELECT id + 2, v, n FROM {t}")
    shop.once("DELETE FROM {t} WHERE id NOT IN (SELECT id FROM news) OR v = 'z'")
    assert shop.rows == [(2, "C", 10)]
    assert shop.once("DELETE FROM {t}") == []


def test_what_cannot_be_changed_says_so(shop: Shop) -> None:
    """The past, a column that a command needs for itself."""
    shop.begin("(id INT, _arctic_action STRING, PRIMARY KEY (id))", "(1, 'x')")
    assert "rename the column" in str(shop.refused("UPDATE {t} SET id = 2"))
    assert "metadata table" in str(shop.refused("DELETE FROM {t}.snapshots WHERE snapshot_id > 0"))
