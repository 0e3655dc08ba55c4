"""No message, traceback or line of output says a password, key or token."""

from __future__ import annotations

import logging
import pickle
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

import arctic
from arctic.cli.main import main
from arctic.errors import ArcticError, InvalidInputError
from arctic.job.read.asked_read import AskedRead
from arctic.job.read.engine_scan import begin_engine_scan
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.write_job import begin_write
from arctic.redact import Secrets, may_hold_secret, without_secrets

MARK = "M4RKERs3cret"
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("v", pa.string())])
MIRROR = ("cdc", "postgres", "--tables", "public.o", "--into", "shop", "--dsn")


@dataclass(frozen=True)
class Case:
    """A catalog that cannot be opened."""

    id: str
    catalog: Mapping[str, str]


CASES = [
    Case("mysql", {"uri": f"mysql://u:{MARK}@127.0.0.1:1/db"}),
    Case("slash_in_password", {"uri": f"mysql://u:a/{MARK}@127.0.0.1:1/db"}),
    Case("user_alone", {"uri": f"mysql://{MARK}@127.0.0.1:1/db"}),
    Case("postgres", {"uri": f"postgresql+psycopg://u:{MARK}@127.0.0.1:1/db"}),
    Case("no_port", {"type": "sql", "uri": f"postgresql://u:{MARK}@127.0.0.1:notaport/db"}),
    Case("no_dialect", {"type": "sql", "uri": f"foobar://u:{MARK}@127.0.0.1/db"}),
    Case("jdbc", {"uri": f"jdbc:postgresql://127.0.0.1/db?user=u&password={MARK}"}),
    Case("rest_token", {"type": "rest", "uri": "http://127.0.0.1:1/", "token": MARK}),
    Case("rest_user", {"type": "rest", "uri": f"http://u:{MARK}@127.0.0.1:1/"}),
    Case("rest_query", {"type": "rest", "uri": f"http://127.0.0.1:1/?token={MARK}"}),
    Case("no_type", {"type": "wat", "uri": f"http://u:{MARK}@h/"}),
    Case("no_uri", {"uri": MARK}),
    Case("in_memory", {"uri": f"sqlite://?password={MARK}"}),
    Case("no_class", {"py-catalog-impl": "no.such.Catalog", "token": MARK}),
    Case("warehouse", {"warehouse": f"s3://u:{MARK}@bucket/w"}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_an_error_of_a_catalog_says_no_secret(case: Case) -> None:
    """Neither the message nor the traceback of a catalog's failure repeats what it was given."""
    with pytest.raises(ArcticError) as raised:
        arctic.open_table("a.b", catalog=case.catalog)

    assert MARK not in "".join(traceback.format_exception(raised.value))


def test_a_table_is_used_without_a_word_of_its_secrets(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Reports, plans, texts of objects, logs and files of a table hold no catalog property."""
    caplog.set_level(logging.DEBUG)
    catalog = {
        "uri": f"sqlite:///{tmp_path}/c.db",
        "warehouse": str(tmp_path / "lake"),
        "s3.secret-access-key": MARK,
        "token": MARK,
        "header.x-auth": MARK,
        "adls.connection-string": f"AccountKey={MARK};x",
    }
    rows = pa.table({"id": [1], "v": ["a"]}, schema=SCHEMA)
    table = arctic.create_table("a.b", SCHEMA, primary_key=["id"], catalog=catalog)

    begun = {"path": "a.b", **{f"catalog.{name}": text for name, text in catalog.items()}}
    said = [repr(begin_write(AskedWrite.of(begun), SCHEMA))]
    read = AskedRead.of(begun)
    begun_scan = begin_engine_scan(
        read, columns=["id"], engine=None, filter_for=lambda _: None, unreached=lambda _: None
    )
    said += [repr(begun_scan)]
    said += [str(table.write(rows, mode="upsert")), str(table.optimize(type="full"))]
    said += [repr(table), repr(table._opened), str(table.properties), str(table.status())]
    said += [str(table.explain(analyze=True, verbose=True)), str(table.expire(dry_run=True))]

    assert MARK not in "".join(said)
    assert MARK not in caplog.text
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 4
    assert [path for path in written if MARK.encode() in path.read_bytes()] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "a.b", "--property", f"uri=mysql://u:{MARK}@h/db"],
        ["tables", "--property", f"urI={MARK}"],
        [*MIRROR, f"u:{MARK}%zz@h"],
        [*MIRROR, f"password=a {MARK}"],
        [*MIRROR, f"postgresql://u:{MARK}@127.0.0.1:1/db"],
    ],
)
def test_the_command_line_says_no_secret(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A command that fails does not repeat the secret it was given."""
    with pytest.raises(SystemExit) as left:
        main(arguments)

    said = capsys.readouterr()
    assert left.value.code != 0
    assert said.err.startswith("arctic: ")
    assert MARK not in said.out + said.err


def test_a_value_that_a_library_quotes_is_found_in_any_form() -> None:
    """A password is hidden as it stands in the URI and as the library decoded it."""
    secrets = Secrets.of({"uri": "postgresql://ann:p%40ss%2Fw@db/lake", "header.x-auth": "abcdef"})

    said = secrets.hide("auth failed for p@ss/w (p%40ss%2Fw) with abcdef at postgresql://db/lake")

    assert said == "auth failed for *** (***) with *** at postgresql://db/lake"


@pytest.mark.parametrize(
    "text",
    [
        "file:///lake/shop/users/data/0-I-1.parquet is not there",
        "abfss://container@account.dfs.core.windows.net/lake",
        "unknown read option 'token'; did you mean 'tokens'?",
        "expected load('namespace.table')",
        "http://127.0.0.1:8181/v1/config",
    ],
)
def test_a_text_without_secrets_stays_as_it_is(text: str) -> None:
    """Locations, containers and names of options are no secrets."""
    assert without_secrets(text) == text


def test_what_is_not_known_to_be_harmless_is_a_secret() -> None:
    """Only settings that never hold a secret may be printed."""
    assert not may_hold_secret("s3.region", "eu-west-1")
    assert not may_hold_secret("uri", "http://localhost:8181")
    assert may_hold_secret("uri", "http://ann:pa55@localhost:8181")
    assert may_hold_secret("header.x-auth", "abc")


def test_an_error_without_secrets_keeps_its_cause() -> None:
    """Hiding costs no traceback where there is nothing to hide."""
    plain, telling = OSError("disk full"), OSError(f"no login with {MARK}")
    secrets = Secrets.of({"token": MARK})

    assert secrets.cause(plain) is plain
    assert secrets.cause(telling) is None
    assert MARK not in repr(secrets)


def test_an_error_that_was_redacted_travels_between_processes() -> None:
    """Workers send exceptions."""
    with pytest.raises(InvalidInputError) as raised:
        arctic.open_table("a.b", catalog={"uri": MARK})

    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
