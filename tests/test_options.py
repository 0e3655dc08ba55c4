from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import arctic
from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.options import OPTIONS, Option, Scope, check_known


def test_every_name_means_one_option() -> None:
    """Names and aliases are distinct without regard to case."""
    names = [name.lower() for option in OPTIONS for name in option.names]

    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_is_described(option: Option[Any]) -> None:
    """One sentence, a place where it may stand, and a default that is a value of it."""
    assert option.doc.endswith(".")
    assert option.scopes
    assert option.default == option.value({})


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        (opt.TARGET_SIZE, "134217728", 134217728),
        (opt.TARGET_SIZE, "128 MiB", 128 * 2**20),
        (opt.TARGET_SIZE, "128mb", 128 * 2**20),
        (opt.TARGET_SIZE, " 1G ", 2**30),
        (opt.TARGET_SIZE, "2t", 2**41),
        (opt.WEIGHT_RATIO, "0.5", 0.5),
        (opt.PARALLELISM, "8", 8),
        (opt.SNAPSHOT_ID, "-1", -1),
        (opt.STORE, "Base", "base"),
        (opt.UPSERT_INSERTS, " FALSE ", False),
        (opt.COLUMNS, "id, name ,", ("id", "name")),
        (
            opt.PARTITION_BY,
            "day(ts), bucket(16, id),region",
            ("day(ts)", "bucket(16, id)", "region"),
        ),
        (opt.WRITE_MODE, "UPSERT", "upsert"),
        (opt.CHANGE_TTL_MINUTES, "0", 0),
        (opt.SNAPSHOT_KEEP_MS, "720min", 43_200_000),
        (opt.SNAPSHOT_KEEP_MS, "12h", 43_200_000),
        (opt.SNAPSHOT_KEEP_MS, "1 D", 86_400_000),
        (opt.SNAPSHOT_KEEP_MS, "3600s", 3_600_000),
        (opt.SNAPSHOT_KEEP_MS, "2 days", 172_800_000),
        (opt.SNAPSHOT_KEEP_MS, "90 sec", 90_000),
        (opt.SNAPSHOT_KEEP_MS, "0", 0),
    ],
)
def test_a_text_becomes_a_value(option: Option[Any], text: str, expected: Any) -> None:
    """Options arrive as text."""
    assert expected == option.value({option.name: text})


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        (opt.TARGET_SIZE, "0", "bytes above 0"),
        (opt.TARGET_SIZE, "1.5 GiB", "bytes above 0"),
        (opt.TARGET_SIZE, "lots", "'128 MiB'"),
        (opt.WEIGHT_RATIO, "nan", "a number above 0"),
        (opt.WEIGHT_RATIO, "inf", "a number above 0"),
        (opt.WEIGHT_RATIO, "-2", "a number above 0"),
        (opt.WEIGHT_RATIO, "two", "a number above 0"),
        (opt.PARALLELISM, "0", "a whole number above 0"),
        (opt.PARALLELISM, "1.5", "a whole number above 0"),
        (opt.SNAPSHOT_ID, "latest", "a whole number"),
        (opt.CHANGE_TTL_MINUTES, "-1", "a whole number, 0 or more"),
        (opt.SNAPSHOT_KEEP_MS, "1 week", "such as '720min'"),
        (opt.SNAPSHOT_KEEP_MS, "-1", "such as '720min'"),
        (opt.SNAPSHOT_KEEP_COUNT, "0", "a whole number above 0"),
        (opt.STORE, "delta", "one of merged, base, change"),
        (opt.UPSERT_INSERTS, "yes", "true or false"),
        (opt.COLUMNS, " , ", "names separated by commas"),
        (opt.PARTITION_BY, "", "partition fields such as"),
    ],
)
def test_a_text_that_is_no_value_is_refused(option: Option[Any], text: str, message: str) -> None:
    """The message names the option, the text and what would do."""
    with pytest.raises(InvalidInputError, match=f"option {option.name} = '{text}': .*{message}"):
        option.value({option.name: text})


@pytest.mark.parametrize(
    ("options", "properties", "expected"),
    [
        ({"Weight-RATIO": "3"}, {"weight-ratio": "4"}, 3.0),
        ({}, {"WEIGHT-ratio": "4"}, 4.0),
        ({}, {}, 2.0),
        ({}, None, 2.0),
    ],
)
def test_a_call_wins_over_a_property_over_the_default(
    options: Mapping[str, str], properties: Mapping[str, str] | None, expected: float
) -> None:
    """Names are compared without case in both."""
    assert expected == opt.WEIGHT_RATIO.value(options, properties)


def test_a_property_of_an_option_for_calls_only_is_not_read() -> None:
    """A table does not say which columns to read."""
    assert opt.COLUMNS.value({}, {"columns": "id"}) is None


def test_an_alias_means_the_option() -> None:
    """The option's own name wins over its alias, and an error names what was written."""
    alias = {"Read.Split.Target-Size": "1 KiB"}

    assert opt.TARGET_SIZE.value(alias) == 1024
    assert opt.TARGET_SIZE.value({**alias, "target-size": "2 KiB"}) == 2048
    with pytest.raises(InvalidInputError, match=r"table property read\.split\.target-size = 'x'"):
        opt.TARGET_SIZE.value({}, {"read.split.target-size": "x"})


@pytest.mark.parametrize(
    ("name", "scope", "message"),
    [
        (
            "weigth-ratio",
            Scope.READ,
            "unknown read option 'weigth-ratio'; did you mean 'weight-ratio'",
        ),
        ("primaryKy", Scope.WRITE, "did you mean 'primaryKey'"),
        (
            "Target-Sise",
            Scope.READ,
            "unknown read option 'Target-Sise'; did you mean 'target-size'",
        ),
        ("zzzzzz", Scope.READ, "known: path, warehouse, catalog, wap-branch, columns"),
        ("columns", Scope.WRITE, "unknown write option 'columns'"),
        ("overwriteSchema", Scope.WRITE, r"'overwriteSchema'; .*option mergeSchema"),
        ("mergeschema", Scope.STREAM, r"'mergeSchema'; .*arctic\.evolve_schema"),
        ("_arctic_shard", Scope.WRITE, "unknown write option '_arctic_shard'; known:"),
    ],
)
def test_an_unknown_option_is_refused(name: str, scope: Scope, message: str) -> None:
    """A typo that is ignored would quietly change what a query means."""
    with pytest.raises(InvalidInputError, match=message):
        check_known({name: "1"}, scope)


@pytest.mark.parametrize("scope", list(Scope), ids=lambda scope: scope.value)
def test_what_is_ours_alone_is_not_offered(scope: Scope) -> None:
    """Options that parts of this package tell each other are no advice."""
    with pytest.raises(InvalidInputError) as refused:
        check_known(["zzzzzz"], scope)

    assert "_arctic" not in refused.value.message


def test_known_options_pass() -> None:
    """In any case, by any alias, and everything under the catalog prefix."""
    read = ["PATH", "Columns", "read.split.target-size", "catalog.s3.endpoint", "CATALOG.uri"]

    check_known(read, Scope.READ)
    check_known(["path", "write-mode", "primary.keys"], Scope.WRITE)


def test_a_machine_has_cores() -> None:
    """The default parallelism is never 0."""
    assert opt.default_parallelism() >= 1


@pytest.mark.parametrize(
    ("name", "text", "scope"),
    [
        ("max-write-tasks", "0", Scope.WRITE),
        ("stream-batch-id", str(2**63), Scope.WRITE),
        ("stream-batch-id", "1.5", Scope.WRITE),
        ("as-of-timestamp", "2026-11-22 01:00:00", Scope.READ),
        ("as-of-timestamp", "yesterday", Scope.READ),
        ("as-of-timestamp", str(2**70), Scope.READ),
    ],
)
def test_a_value_is_refused_where_nobody_reads_it(name: str, text: str, scope: Scope) -> None:
    """An option of Spark's writes in a write without Spark, for one."""
    with pytest.raises(InvalidInputError, match=f"option {name} = '{text}': expected|it is beyond"):
        check_known({name: text}, scope)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("-5", -5),
        ("1000", 1000),
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01 01:00:00.5+01:00", 500),
        ("1970-01-01T00:00:00.123456789Z", 123),
    ],
)
def test_times_are_milliseconds_or_iso_texts(text: str, milliseconds: int) -> None:
    """With a zone: without one nobody knows when."""
    assert opt.AS_OF_TIMESTAMP.value({"as-of-timestamp": text}) == milliseconds


def test_texts_are_found_in_any_case_and_stay_as_they_were_given() -> None:
    """Also by whom they are sent to, and among texts of any other mapping."""
    texts = opt.Texts.of({"Write-Mode": "upsert", "path": "db.t"})

    assert texts.spelt("WRITE-mode") == "Write-Mode"
    assert texts.spelt("mode") is None
    assert opt.Texts.of(texts) is texts
    assert texts == {"Write-Mode": "upsert", "path": "db.t"}
    again = pickle.loads(pickle.dumps(texts))
    assert (again, again.spelt("PATH")) == (texts, "path")
    with pytest.raises(InvalidInputError, match="option Write-Mode = 'upset'"):
        opt.WRITE_MODE.value({"Write-Mode": "upset"})


def test_a_record_of_settings_has_no_default_of_what_an_option_says() -> None:
    """It would be a second one, and in force wherever somebody forgets the option.

    None says that nothing was asked for, and is no value.
    """
    package = Path(arctic.__file__).parent
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in package.rglob("*.py")]
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    defaults = {
        (record.name, field.target.id)
        for record in classes
        for field in record.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and field.value is not None
        and not (isinstance(field.value, ast.Constant) and field.value.value is None)
    }
    told = {pair for record in classes for pair in _told_by_options(record)}

    assert ("ReadSettings", "max_delete_bytes") in told
    assert ("ScanOptions", "target_bytes") in told
    assert told & defaults == set()


def test_no_name_of_an_option_stands_outside_its_list() -> None:
    """A literal elsewhere would be a second home: it stays behind when the option is renamed.

    ``snapshot-id`` is a field of Iceberg's metadata too.
    """
    package = Path(arctic.__file__).parent
    names = {name for option in OPTIONS for name in option.names if set(name) & set(".-")}
    found = {
        f"{path.relative_to(package).as_posix()}: {node.value}"
        for path in package.rglob("*.py")
        if path.parent != package / "options"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
        if node.value != "snapshot-id" or package / "iceberg" not in path.parents
    }

    assert found == set()


def _told_by_options(record: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Return the fields that are given the value of an option, in a class or by one."""
    for call in ast.walk(record):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            name = record.name if call.func.id == "cls" else call.func.id
            for keyword in call.keywords:
                if keyword.arg is not None and _reads_option(keyword.value):
                    yield name, keyword.arg


def _reads_option(value: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "opt"
        and node.attr.isupper()
        for node in ast.walk(value)
    )
