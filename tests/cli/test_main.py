from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pytest

import arctic
from arctic.cli import cdc, change, engines, look, serving, ui, upkeep
from arctic.cli.late_commands import HOMES
from arctic.cli.main import commands as entry
from arctic.cli.main import main
from arctic.cli.verbs import (
    adopt,
    complete,
    consumer_commands,
    edit,
    evolve,
    past,
    publish,
    view_commands,
)
from arctic.iceberg.catalogs.catalog import CatalogConfig

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("price", pa.decimal128(8, 2))])


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document that it printed."""
        return json.loads(self.out)


Command = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command line in this process."""

    def command(*arguments: str) -> Outcome:
        with pytest.raises(SystemExit) as left:
            main(arguments)
        captured = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Outcome(code=left.value.code, out=captured.out, err=captured.err)

    return command


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """Two tables; ``shop.users`` has three rows after two writes."""
    place = str(tmp_path / "warehouse")
    users = arctic.create_table("shop.users", SCHEMA, primary_key=["id"], warehouse=place)
    arctic.create_table("shop.visits", SCHEMA, partition_by=["city"], warehouse=place)
    users.write(_rows((1, "Rome"), (2, "Oslo")), mode="upsert")
    users.write(_rows((2, "Bern"), (3, "Lima")), mode="upsert")
    return place


def _rows(*pairs: tuple[int, str]) -> pa.Table:
    rows = [{"id": number, "city": city, "price": None} for number, city in pairs]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def test_tables_lists_names_one_a_line(run: Command, warehouse: str) -> None:
    """The change stores are no tables of their own."""
    outcome = run("tables", "--warehouse", warehouse)

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines() == ["shop.users", "shop.visits"]


def test_tables_as_json_is_a_list(run: Command, warehouse: str) -> None:
    """One document."""
    outcome = run("tables", "shop", "--warehouse", warehouse, "--output", "json")

    assert outcome.document == ["shop.users", "shop.visits"]


def test_show_describes_a_table_for_people(run: Command, warehouse: str) -> None:
    """Description, stores, nodes and rows, without colours where there is no terminal."""
    outcome = run("show", "shop.users", "--warehouse", warehouse)

    assert outcome.code == 0
    for text in ("shop.users", "primary key", "decimal128(8, 2)", "change", "nodes", "Bern"):
        assert text in outcome.out
    assert "first 3 rows" in outcome.out
    assert "\x1b" not in outcome.out


def test_show_as_json_has_everything(run: Command, warehouse: str) -> None:
    """Programs get the same, with all columns."""
    document = run("show", "shop.users", "--warehouse", warehouse, "--output", "json").document

    assert document["primary_key"] == ["id"]
    assert document["columns"][0] == {"name": "id", "type": "int64", "nullable": False}
    assert [store["store"] for store in document["stores"]] == ["base", "change"]
    assert document["stores"][1]["snapshots"] == 2
    assert sum(node["insert_rows"] for node in document["nodes"]) == 4
    assert sorted(row["id"] for row in document["rows"]) == [1, 2, 3]


def test_show_reads_as_many_rows_as_asked(run: Command, warehouse: str) -> None:
    """Also none at all."""
    one = run("show", "shop.users", "--rows", "1", "--warehouse", warehouse, "--output", "json")
    none = run("show", "shop.users", "--rows", "0", "--warehouse", warehouse, "--output", "json")

    assert len(one.document["rows"]) == 1
    assert "rows" not in none.document


def test_show_takes_columns_and_a_filter(run: Command, warehouse: str) -> None:
    """The filter is in the words of ``arctic.read``."""
    place = ("--warehouse", warehouse, "--output", "json")
    outcome = run("show", "shop.users", "--columns", "city, id", "--filter", "id >= 3", *place)

    assert outcome.document["rows"] == [{"city": "Lima", "id": 3}]


def test_show_describes_an_empty_table_without_a_key(run: Command, warehouse: str) -> None:
    """No snapshot, no node and no row are nothing special."""
    outcome = run("show", "shop.visits", "--warehouse", warehouse)

    assert outcome.code == 0
    assert "primary key none" in outcome.out
    assert "first 0 rows" in outcome.out


def test_explain_prints_the_plan(run: Command, warehouse: str) -> None:
    """The text of ``arctic.explain``."""
    outcome = run("explain", "shop.users", "--filter", "id = 3", "--warehouse", warehouse)

    assert outcome.code == 0
    assert outcome.out == arctic.explain("shop.users", filter="id = 3", warehouse=warehouse) + "\n"


def test_explain_counts_what_a_read_touches(run: Command, warehouse: str) -> None:
    """With ``--analyze``, below the plan."""
    place = ("--warehouse", warehouse)
    outcome = run("explain", "shop.users", "--filter", "id = 3", "--analyze", *place)

    plan, touched = outcome.out.split("\n\ntouched\n")
    assert plan.startswith("read of shop.users")
    assert "  returned  1 row\n" in touched


def test_explain_as_json_names_the_table(run: Command, warehouse: str) -> None:
    """The plan's lines."""
    document = run("explain", "shop.users", "--warehouse", warehouse, "--output", "json").document

    assert document["table"] == "shop.users"
    assert document["plan"][0] == "read of shop.users: merged view"


def test_history_lists_the_commits_of_both_stores(run: Command, warehouse: str) -> None:
    """Each snapshot once, oldest first, with its time and its summary."""
    users = arctic.open_table("shop.users", warehouse=warehouse)
    users.write(_rows((7, "Cork")), mode="overwrite")

    document = run("history", "shop.users", "--warehouse", warehouse, "--output", "json").document

    assert [row["store"] for row in document] == ["change", "change", "base"]
    assert document[0]["summary"]["added-records"] == "4"
    assert sorted(row["committed_at"] for row in document) == [
        row["committed_at"] for row in document
    ]


def test_history_says_what_each_commit_added(run: Command, warehouse: str) -> None:
    """In a line that fits a terminal: the deletes and the inserts of two keys."""
    lines = run("history", "shop.users", "--warehouse", warehouse).out.splitlines()

    assert len(lines) == 3
    assert lines[1].split()[2:7] == ["change", "append", "1", "2", "4"]
    assert max(map(len, lines)) < 120


def test_a_catalog_may_be_given_by_its_properties(run: Command, warehouse: str) -> None:
    """``--property`` names PyIceberg catalog properties."""
    uri = f"uri=sqlite:///{warehouse}/catalog.db"
    outcome = run("tables", "--property", uri, "--property", "type=sql")

    assert outcome.out.splitlines() == ["shop.users", "shop.visits"]


def test_expire_says_what_would_go_and_removes_it(run: Command, warehouse: str) -> None:
    """As text, as JSON, and not at all in a dry run."""
    users = arctic.open_table("shop.users", warehouse=warehouse)
    users.write(users.read().read_all(), mode="overwrite")
    options = ("--option", "change.data.ttl.minutes=0", "--option", "snapshot.keep.duration=0")
    command = ("expire", "shop.users", *options, "--warehouse", warehouse)

    said = run(*command, "--dry-run", "--output", "json").document
    done = run(*command)

    assert said["table"] == "shop.users"
    assert said["dry_run"] is True
    kinds = {each["kind"]: each["count"] for each in said["kinds"]}
    assert kinds["snapshot"] == 2
    assert len(said["items"]) == sum(kinds.values())
    assert said["items"][0].keys() == {"store", "kind", "name", "size_bytes", "reason"}
    assert done.out.startswith(f"shop.users: expired {kinds['change file']} x change file (")
    assert users.read().read_all().num_rows == 3
    assert run(*command).out == "shop.users: expired nothing\n"
    assert "expired nothing" in run("clean-orphans", *command[1:]).out


def test_properties_and_names_are_changed(run: Command, warehouse: str) -> None:
    """Set, unset and rename, each with what is so afterwards."""
    place = ("--warehouse", warehouse)
    done = run("set", "shop.users", "Weight-Ratio=3", "owner=a=b", *place)
    removed = run("unset", "shop.users", "owner", *place, "--output", "json")
    renamed = run("rename", "shop.users", "crm.people", *place)

    assert done.out == "shop.users: owner = a=b\nshop.users: weight-ratio = 3\n"
    assert removed.document == {"table": "shop.users", "properties": {"owner": None}}
    assert renamed.out == "shop.users is crm.people now\n"
    people = arctic.open_table("crm.people", warehouse=warehouse)
    assert (people.properties["weight-ratio"], "owner" in people.properties) == ("3", False)


def test_columns_are_changed_all_at_once(run: Command, warehouse: str) -> None:
    """Types are named as Iceberg or SQL names them; what is printed is what is there then."""
    changes = ("--add", "seen=timestamptz", "--add", "n=INTEGER", "--rename", "city=town")
    place = ("--warehouse", warehouse)
    done = run("evolve", "shop.users", *changes, *place, "--output", "json")
    text = run("evolve", "shop.users", "--widen", "n=bigint", "--drop", "seen", *place)

    assert done.document["table"] == "shop.users"
    kinds = {column["name"]: column["type"] for column in done.document["columns"]}
    assert list(kinds.items())[-2:] == [("seen", "timestamp[us, tz=UTC]"), ("n", "int32")]
    assert "town" in kinds
    assert "city" not in kinds
    schema = arctic.open_table("shop.users", warehouse=warehouse).schema
    assert schema.names == [name for name in kinds if name != "seen"]
    assert str(schema.field("n").type) == "int64"
    assert "int64" in text.out.splitlines()[-1]


def test_a_tag_is_made_by_the_name_that_sql_has_too(run: Command, warehouse: str) -> None:
    """Which the list of commands leaves out."""
    place = ("--warehouse", warehouse)

    assert run("create-tag", "shop.users", "kept", *place).code == 0

    assert "kept" in run("versions", "shop.users", *place).out
    assert "create-tag" not in run("--help").out


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A command that cannot work."""

    id: str
    arguments: tuple[str, ...]
    code: int
    says: str
    """Part of the one line."""


MISTAKES = [
    Mistake(
        id="unknown expire option",
        arguments=("expire", "shop.users", "--option", "snapshot.keep=1d"),
        code=1,
        says="unknown expire option 'snapshot.keep'",
    ),
    Mistake(id="missing table", arguments=("show", "shop.nobody"), code=1, says="shop.nobody"),
    Mistake(id="no namespace", arguments=("show", "users"), code=1, says="namespace.table"),
    Mistake(
        id="unknown column",
        arguments=("show", "shop.users", "--columns", "town"),
        code=1,
        says="no column 'town'",
    ),
    Mistake(
        id="broken filter",
        arguments=("explain", "shop.users", "--filter", "id >"),
        code=1,
        says="id >",
    ),
    Mistake(id="no command", arguments=("--",), code=2, says="Missing command"),
    Mistake(id="unknown command", arguments=("sohw",), code=2, says="sohw"),
    Mistake(id="no table", arguments=("show",), code=2, says="arctic show --help"),
    Mistake(
        id="bad number", arguments=("show", "shop.users", "--rows", "-1"), code=2, says="--rows"
    ),
    Mistake(
        id="a name twice",
        arguments=("update", "shop.users", "city='Rome'", "city ='Oslo'"),
        code=2,
        says="city is given twice",
    ),
    Mistake(
        id="bad property", arguments=("tables", "--property", "uri"), code=2, says="NAME=VALUE"
    ),
    Mistake(
        id="mistyped property",
        arguments=("set", "shop.users", "self-optimising.enabled=true"),
        code=1,
        says="did you mean 'self-optimizing.enabled'",
    ),
    Mistake(id="no value", arguments=("set", "shop.users", "owner"), code=2, says="NAME=VALUE"),
    Mistake(id="no change", arguments=("evolve", "shop.users"), code=2, says="expected --add"),
    Mistake(
        id="no type",
        arguments=("evolve", "shop.users", "--add", "price=decimal(90,2)"),
        code=1,
        says="column 'price': no type 'decimal(90,2)'; expected one of Iceberg's, such as int",
    ),
    Mistake(
        id="type that no column can have",
        arguments=("evolve", "shop.users", "--add", "u=uuid"),
        code=1,
        says="column 'u': type uuid is unknown to Spark; use string or fixed[16]",
    ),
    Mistake(
        id="two catalogs",
        arguments=("tables", "--catalog", "prod", "--property", "uri=x"),
        code=2,
        says="--catalog",
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.id)
def test_a_mistake_is_one_line_and_an_exit_code(
    run: Command, warehouse: str, monkeypatch: pytest.MonkeyPatch, mistake: Mistake
) -> None:
    """1 when it failed, 2 when the command line is wrong; never a stack trace."""
    monkeypatch.setenv("ARCTIC_WAREHOUSE", warehouse)

    outcome = run(*mistake.arguments)

    assert outcome.code == mistake.code
    assert outcome.out == ""
    assert outcome.err.startswith("arctic: ")
    assert outcome.err.count("\n") == 1
    assert "Usage:" not in outcome.err
    assert mistake.says in outcome.err


def test_a_missing_warehouse_is_not_created_by_looking(run: Command, tmp_path: Path) -> None:
    """A typo in the folder is an error, not an empty catalog."""
    missing = tmp_path / "typo"

    assert run("tables", "--warehouse", str(missing)).code == 1
    assert not missing.exists()


def test_a_bug_is_one_line_too(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw names its kind and how to see more."""

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr(arctic, "list_tables", fail)

    outcome = run("tables")

    assert outcome.code == 1
    assert outcome.err == (
        "arctic: unexpected ZeroDivisionError: division by zero; ARCTIC_DEBUG=1 shows where\n"
    )


def test_debugging_shows_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error itself leaves the process, for those who ask."""
    monkeypatch.setenv("ARCTIC_DEBUG", "1")

    with pytest.raises(arctic.InvalidInputError):
        main(["show", "users"])


@pytest.mark.parametrize("arguments", [(), ("--help",)], ids=["nothing", "asked"])
def test_help_is_no_failure(run: Command, arguments: tuple[str, ...]) -> None:
    """Every command is listed with what it does."""
    outcome = run(*arguments)

    assert outcome.code == 0
    for name in ("tables", "show", "explain", "history", "expire", "cdc"):
        assert f"  {name} " in outcome.out


def test_every_module_of_commands_is_listed() -> None:
    """Or its commands could not be found."""
    modules = (cdc, change, engines, look, serving, ui, upkeep)
    verbs = (adopt, complete, consumer_commands, edit, evolve, past, publish, view_commands)
    defined = {
        each.name
        for module in (*modules, *verbs)
        for each in vars(module).values()
        if isinstance(each, click.Command)
    }

    assert set(HOMES) == {module.__name__ for module in (*modules, *verbs)}
    listed = {name for commands in HOMES.values() for name in commands}
    assert listed <= defined


def test_the_list_says_of_each_command_what_its_own_help_says() -> None:
    """So it can be printed without them; each one is where it is looked for."""
    said = {name: text for commands in HOMES.values() for name, text in commands.items()}
    context = click.Context(entry)
    found = {name: entry.get_command(context, name) for name in entry.list_commands(context)}

    assert found.keys() == said.keys()
    for name, command in found.items():
        assert command is not None
        assert said[name] == (None if command.hidden else command.get_short_help_str(limit=1_000))
    assert entry.get_command(context, "shwo") is None


def test_help_is_printed_without_what_carries_commands_out() -> None:
    """All of that together takes seconds to import."""
    code = "import sys; from arctic.cli.main import main\ntry: main(['--help'])\n"
    code += "except SystemExit: print(sorted({'pyarrow', 'pyiceberg', 'pyspark'} & {*sys.modules}))"

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("module", ["arctic.cli.main", "arctic.cli"])
def test_the_module_is_the_whole_command(module: str) -> None:
    """``python -m`` knows every command, where no script is installed."""
    done = subprocess.run(
        [sys.executable, "-m", module, "cdc", "--help"], check=True, capture_output=True, text=True
    )

    assert "postgres" in done.stdout


def test_writers_and_their_watermarks(run: Command, warehouse: str) -> None:
    """As moments for people, in milliseconds for programs; retiring one prints the others."""
    visits = arctic.create_table(
        "shop.times",
        pa.schema([("ms", pa.int64())]),
        properties={"table.event-time-field": "ms"},
        warehouse=warehouse,
    )
    for writer, ms in (("eu", 5_000), ("us", 4_000)):
        visits.write(pa.table({"ms": [ms]}), mode="append", options={"writer-id": writer})

    shown = run("watermarks", "shop.times", "--warehouse", warehouse)
    left = run("retire-writer", "shop.times", "us", "--warehouse", warehouse, "--output", "json")
    none = run("watermarks", "shop.users", "--warehouse", warehouse)

    assert shown.out.split("\n")[0] == "eu 1970-01-01 00:00:05.000+00:00"
    assert left.document == {"table": "shop.times", "writers": {"eu": 5_000}}
    assert none.out == "shop.users: no writer with a name\n"


def test_consumers_are_listed_and_dropped(run: Command, warehouse: str) -> None:
    """With what is ahead of them."""
    place = ("--warehouse", warehouse)
    arctic.consumer("shop.users", "copy", options={"start-version": "1"}, warehouse=warehouse)

    (row,) = run("consumers", "shop.users", "--output", "json", *place).document
    assert (row["consumer"], row["commits_behind"], row["rows_behind"]) == ("copy", 1, 4)
    assert row["behind"] >= 0
    assert "copy" in run("consumers", "shop.users", *place).out
    dropped = run("drop-consumer", "shop.users", "copy", *place)
    assert dropped.out == "shop.users: dropped consumer copy\n"
    assert run("consumers", "shop.users", "--output", "json", *place).document == []
    again = run("drop-consumer", "shop.users", "copy", "--output", "json", *place)
    assert (again.code, "has no consumer 'copy'" in again.err) == (1, True)


def test_states_are_listed_tagged_and_restored(run: Command, warehouse: str) -> None:
    """Versions, tags and a restore, as text and as JSON."""
    place = ("--warehouse", warehouse)

    listed = run("versions", "shop.users", "--output", "json", *place).document
    assert [each["version"] for each in listed] == [1, 2]
    assert (
        "tag first is base snapshot None"
        in run("tag", "shop.users", "first", "--version", "1", *place).out
    )
    assert "first" in run("versions", "shop.users", *place).out
    assert "cloned" in run("clone", "shop.users", "shop.copy", "--version", "first", *place).out
    restored = run("restore", "shop.users", "first", "--output", "json", *place).document
    assert restored["restored"]["change_snapshot_id"] == listed[0]["change_snapshot_id"]
    users = arctic.open_table("shop.users", warehouse=warehouse)
    assert users.count() == 2
    assert "restored" in run("set-current-version", "shop.users", "2", *place).out
    assert users.count() == 3
    snapshot = str(listed[0]["change_snapshot_id"])
    assert "restored" in run("rollback-to-snapshot", "shop.users", snapshot, *place).out
    assert users.count() == 2
    moment = listed[1]["committed_at"]
    assert "restored" in run("rollback-to-timestamp", "shop.users", moment, *place).out
    assert users.count() == 3
    assert run("drop-tag", "shop.users", "first", *place).out == "shop.users: dropped tag first\n"
    refused = run("restore", "shop.users", "first", *place)
    assert refused.code == 1
    assert "no tag 'first'" in refused.err


def test_rows_are_deleted_and_updated_by_a_condition(run: Command, warehouse: str) -> None:
    """In one commit each, with counts."""
    place = ("--warehouse", warehouse)

    done = run("update", "shop.users", "city=upper(city)", "--where", "id < 3", *place)
    assert "2 rows updated" in done.out
    gone = run("delete", "shop.users", "--where", "city = 'ROME'", "--output", "json", *place)
    assert gone.document["rows_deleted"] == 1
    rows = arctic.open_table("shop.users", warehouse=warehouse).read().read_all().to_pylist()
    assert sorted(row["city"] for row in rows) == ["BERN", "Lima"]
    assert run("delete", "shop.users", "--where", "true", *place).code == 0
    assert run("delete", "shop.users", "--where", "no = 1", *place).code == 1


def test_the_settings_of_no_catalog_cost_no_jar(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place where no catalog can be is refused before a JVM begins to compile."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    refused = run("spark-conf", "--warehouse", "s3://bucket/lake")

    assert (refused.code, refused.out) == (1, "")
    assert "'s3://bucket/lake': the embedded SQLite catalog needs a local folder" in refused.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spark
def test_the_settings_of_a_catalog_are_printed_for_other_drivers(
    run: Command, tmp_path: Path
) -> None:
    """As lines of a file, as flags that a shell takes, and as JSON; a secret is no flag."""
    folder = tmp_path / "a lake"
    plain = ("spark-conf", "--name", "lake", "--warehouse", str(folder))
    asked = (*plain, "--property", "header.x-auth=t0ken")
    catalog = "spark.sql.catalog.lake."

    settings = run(*asked, "--output", "json").document
    assert settings[f"{catalog}warehouse"] == str(folder)
    assert settings["spark.pyspark.python"] == sys.executable
    assert Path(settings["spark.driver.extraClassPath"]).suffix == ".jar"
    read = CatalogConfig.from_options(
        {key.removeprefix(catalog): text for key, text in settings.items()}
    )
    assert read.properties == {"header.x-auth": "t0ken"}
    refused = run(*asked, "--flags")
    assert (refused.code, "t0ken" in refused.out + refused.err) == (1, False)
    assert f"setting '{catalog}catalog.secret.header.x-auth' may hold a secret" in refused.err
    lines = run(*asked).out.splitlines()
    assert lines == [f"{name} {text}" for name, text in settings.items()]
    del settings[f"{catalog}catalog.secret.header.x-auth"]
    flags = shlex.split(run(*plain, "--flags").out)
    assert flags[::2] == ["--conf"] * len(settings)
    assert flags[1::2] == [f"{name}={text}" for name, text in settings.items()]
    refused = run("spark-conf", "--name", "a-b")
    assert (refused.code, refused.err) == (
        1,
        "arctic: catalog 'a-b': expected letters, digits and underscores, such as 'arctic'\n",
    )
