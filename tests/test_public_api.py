"""What ``import arctic`` offers is a promise: additions are noticed, removals are refused."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import arctic

VERBS = {
    "adopt": "identifier, *, primary_key, files, check_key, warehouse, catalog",
    "apply_changes": (
        "messages, *, envelope, tables, quarantine, writer, batch_id, keys, drops_columns, "
        "decodings, write, warehouse, catalog"
    ),
    "clone": "source, target, *, version, as_of, warehouse, catalog",
    "consumer": "identifier, name, *, start, options, warehouse, catalog",
    "consumers": "identifier, *, warehouse, catalog",
    "create_table": (
        "identifier, schema, *, primary_key, partition_by, ordering_columns, sort_by, index, "
        "properties, exist_ok, warehouse, catalog"
    ),
    "dataset": "identifier, *, as_of, version, options, warehouse, catalog",
    "drop_consumer": "identifier, name, *, warehouse, catalog",
    "drop_table": "identifier, *, purge, warehouse, catalog",
    "evolve_schema": "identifier, *, add, rename, widen, drop, warehouse, catalog",
    "expire": "identifier, *, dry_run, options, warehouse, catalog",
    "explain": (
        "identifier, *, columns, filter, as_of, version, options, verbose, analyze, warehouse, "
        "catalog"
    ),
    "list_tables": "namespace, *, warehouse, catalog",
    "list_views": "*, warehouse, catalog",
    "local_session": "*, master, app_name, conf",
    "materialize": (
        "sql, into, *, kind, full, partition_by, properties, exist_ok, warehouse, catalog"
    ),
    "mirror_kafka": (
        "dsn, topics, *, tables, into, envelope, slot, once, max_changes, interval_seconds, "
        "drops_columns, decodings, config, spark, warehouse, catalog"
    ),
    "mirror_mysql": (
        "dsn, tables, *, into, slot, once, max_changes, interval_seconds, partition_by, "
        "watermark, spark, warehouse, catalog"
    ),
    "mirror_postgres": (
        "dsn, tables, *, into, slot, once, max_changes, interval_seconds, partition_by, "
        "watermark, spark, warehouse, catalog"
    ),
    "open_table": "identifier, *, warehouse, catalog",
    "optimize": "identifier, *, type, where, spark, options, warehouse, catalog",
    "package_zip": "path",
    "publish": "identifier, *, into, output, warehouse, catalog",
    "read": "identifier, *, columns, filter, as_of, version, limit, options, warehouse, catalog",
    "read_changes": "identifier, *, start, end, columns, options, warehouse, catalog",
    "ready": "identifier, until, *, wait, writers, poll, warehouse, catalog",
    "refresh": "view, *, full, warehouse, catalog",
    "register": "spark",
    "release": "identifier, *, discard_changes, warehouse, catalog",
    "rename": "identifier, new_identifier, *, warehouse, catalog",
    "repair": "identifier, *, warehouse, catalog",
    "retire_writer": "identifier, writer, *, warehouse, catalog",
    "serve": (
        "*, once, stop, groups, executors, scheduler, interval_seconds, clean_every_seconds, "
        "threads, http, http_token_file, history, webhook, event_command, spark, read_only, say, "
        "warehouse, catalog, catalogs"
    ),
    "set_properties": "identifier, properties, *, warehouse, catalog",
    "spark_conf": "name, *, warehouse, catalog",
    "spark_writer": "spark",
    "status": "identifier, *, where, options, warehouse, catalog",
    "unpublish": "identifier, into, *, warehouse, catalog",
    "unset_properties": "identifier, names, *, warehouse, catalog",
    "watermarks": "identifier, *, warehouse, catalog",
    "windows": "identifier, every, *, consumer, start, wait, writers, poll, warehouse, catalog",
    "write": "identifier, data, *, mode, options, warehouse, catalog",
}
ERRORS = {
    "AlreadyExistsError",
    "ArcticError",
    "CommitStateUnknownError",
    "ConflictError",
    "FormatError",
    "InternalError",
    "InvalidInputError",
    "NotFoundError",
    "StorageError",
    "UnsupportedError",
}
CLASSES = {
    "ApplyReport",
    "CloneReport",
    "Consumer",
    "Decoding",
    "Encoding",
    "ExpireReport",
    "MirrorReport",
    "OptimizeReport",
    "PublishReport",
    "Readiness",
    "RefreshReport",
    "RepairReport",
    "Table",
    "TableStatus",
    "TopicReport",
    "Window",
    "WriteReport",
}
TABLE_MEMBERS = {
    "consumer",
    "consumers",
    "drop_consumer",
    "count",
    "dataset",
    "delete",
    "branches",
    "create_branch",
    "drop_branch",
    "drop_tag",
    "fast_forward",
    "evolve_schema",
    "expire",
    "explain",
    "head",
    "history",
    "inspect",
    "is_keyed",
    "merge",
    "name",
    "optimize",
    "partition_by",
    "primary_key",
    "properties",
    "publish",
    "read",
    "read_changes",
    "refresh",
    "rename",
    "schema",
    "restore",
    "rollback_to_snapshot",
    "rollback_to_timestamp",
    "set_current_version",
    "clean_orphans",
    "retire_writer",
    "set_properties",
    "status",
    "tag",
    "tags",
    "to_pandas",
    "unpublish",
    "unset_properties",
    "update",
    "versions",
    "watermarks",
    "write",
}

_IMPORT_WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {module!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
import arctic
for name in arctic.__all__:
    getattr(arctic, name)
"""
_IMPORT_FOR_TASKS = """
import sys
import arctic.spark.read.partition_reader, arctic.spark.write.task_writer, arctic.job.write.shuffle
import arctic.spark.stream.stream_partition, arctic.job.changes.change_reader

print(*sorted({"pyiceberg", "sqlalchemy", "pandas", "rich"} & sys.modules.keys()))
"""


def _parameters(function: object) -> str:
    assert callable(function)
    names: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in names:
            names.append("*")
        names.append(parameter.name)
    return ", ".join(names)


def test_the_package_offers_exactly_these_names() -> None:
    """A new name is added here on purpose, with its documentation."""
    assert set(arctic.__all__) == VERBS.keys() | ERRORS | CLASSES
    assert list(arctic.__all__) == sorted(arctic.__all__)


@pytest.mark.parametrize("name", sorted(VERBS))
def test_a_verb_takes_exactly_these_arguments(name: str) -> None:
    """A caller who names arguments keeps working."""
    assert _parameters(getattr(arctic, name)) == VERBS[name]


def test_a_table_offers_exactly_these_members() -> None:
    """The description of a table, and the verbs on it."""
    assert {name for name in dir(arctic.Table) if not name.startswith("_")} == TABLE_MEMBERS


@pytest.mark.parametrize("name", sorted(arctic.__all__))
def test_every_name_is_documented(name: str) -> None:
    """``help(arctic.read)`` says something."""
    assert inspect.getdoc(getattr(arctic, name))


def test_the_package_carries_its_types() -> None:
    """Type checkers of users see the annotations."""
    assert (Path(arctic.__file__).parent / "py.typed").is_file()


def test_the_version_is_that_of_the_distribution() -> None:
    """One number, in two files that could drift apart."""
    project = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")

    assert f'\nversion = "{arctic.__version__}"\n' in project


@pytest.mark.parametrize("module", ["pyspark", "py4j", "pandas", "duckdb"])
def test_the_package_works_without(module: str) -> None:
    """Reading and writing Arrow data needs no Spark, and nothing needs pandas."""
    program = _IMPORT_WITHOUT.format(module=module)

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_task_of_spark_imports_no_catalog() -> None:
    """A worker that reads or writes local files is ready in a tenth of a second."""
    assert _printed(_IMPORT_FOR_TASKS) == ""


def test_a_public_name_is_defined_once() -> None:
    """Where verbs are, what has the name is what ``import arctic`` offers, and nothing else."""
    package = Path(arctic.__file__).parent
    homes: dict[str, list[str]] = {}
    for path in sorted([*package.glob("*.py"), *(package / "api").glob("*.py")]):
        module = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in arctic.__all__:
                homes.setdefault(node.name, []).append(module)

    assert VERBS.keys() <= homes.keys()
    assert {name: [getattr(arctic, name).__module__] for name in homes} == homes


def test_no_module_has_the_name_of_what_is_offered() -> None:
    """Importing one sets it on the package, where it would hide the verb."""
    modules = {found.name for found in pkgutil.iter_modules(arctic.__path__)}

    assert modules & set(arctic.__all__) == set()


def test_a_name_that_is_not_offered_is_an_attribute_error() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="module 'arctic' has no attribute 'upsert'"):
        getattr(arctic, "upsert")  # noqa: B009 - mypy knows it is missing


def _printed(program: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return run.stdout.strip()
