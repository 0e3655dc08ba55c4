"""Reports as a user asks for them: a folder, a file, and a lake with broken tables."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

import arctic
from arctic.cli.main import main
from arctic.iceberg.catalogs.catalog import open_catalog
from tests.http.caller import PATIENCE_SECONDS, Caller
from tests.iceberg.stores import config_of
from tests.page.parsed import parsed
from tests.service.lake import Lake

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string())])


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """Two whole tables, one that has lost its change store, one whose metadata is gone."""
    place = str(tmp_path / "lake")
    for name in ("a.one", "a.two", "a.half", "a.gone"):
        table = arctic.create_table(name, SCHEMA, primary_key=["id"], warehouse=place)
        table.write(pa.table({"id": [1], "city": ["Rome"]}, SCHEMA), mode="upsert")
    catalog = open_catalog(config_of(Path(place)))
    half = arctic.open_table("a.half", warehouse=place)
    assert half._opened.change is not None
    catalog.drop_table(half._opened.change.name())
    gone = catalog.load_table(("a", "gone")).metadata_location
    Path(gone.removeprefix("file://")).unlink()
    return place


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int | str | None, str, str]:
    with pytest.raises(SystemExit) as left:
        main(("ui", *arguments))
    captured = capsys.readouterr()
    return left.value.code, captured.out, captured.err


def test_without_a_report_pages_are_served_that_change_nothing_until_an_interrupt(
    warehouse: str, tmp_path: Path
) -> None:
    """At an address that is printed; what would change a table is refused, and no form asks."""
    before = arctic.open_table("a.one", warehouse=warehouse)
    command = [sys.executable, "-m", "arctic.cli", "ui", "--warehouse", warehouse]
    with subprocess.Popen(
        [*command, "--output", "json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        address = urlsplit(json.loads(process.stdout.readline())["address"])
        caller = Caller(Lake(tmp_path), port=int(address.port or 0))
        end = time.monotonic() + PATIENCE_SECONDS
        while caller.get("/ready").status != 200:
            assert time.monotonic() < end
            time.sleep(0.02)

        overview, page = caller.get("/"), caller.get("/tables/a.one")
        refused = caller.post("/api/v1/tables/a.one/optimize", {"type": "full"})
        would = caller.post("/api/v1/tables/a.one/preview", {"type": "full"})
        listed = {each["name"]: each for each in caller.get("/api/v1/tables").json["tables"]}
        process.send_signal(signal.SIGINT)
        code = process.wait(PATIENCE_SECONDS)

    assert code == 0
    assert "a.two" in overview.text
    assert "data-call" not in page.text
    assert (refused.status, refused.json["error"]["kind"]) == (501, "UnsupportedError")
    assert "arctic serve" in refused.message
    assert would.status == 200
    assert (listed["a.one"]["state"], listed["a.one"]["health"]) == ("looked at", 50)
    now = arctic.open_table("a.one", warehouse=warehouse)
    assert now.properties == before.properties


def test_a_folder_has_a_page_for_each_table_and_says_which_are_broken(
    warehouse: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that cannot be looked at is a row; the others are shown all the same."""
    folder = tmp_path / "out" / "report"
    code, out, err = _run(
        capsys, "--report", str(folder), "--warehouse", warehouse, "--output", "json"
    )
    said = json.loads(out)

    assert (code, err) == (0, "")
    assert (said["tables"], said["report"]) == (2, str(folder / "index.html"))
    assert sorted(said["broken"]) == ["a.gone", "a.half"]
    index = parsed((folder / "index.html").read_text(encoding="utf-8"))
    assert index.text_of("bdi").replace(warehouse, "") == "a.gonea.halfa.onea.two"
    assert "change store" in index.text_of("td")
    pages = [value for name, value in index.attributes if name == "href" and "tables/" in value]
    assert sorted(pages) == sorted(f"tables/{each.name}" for each in (folder / "tables").iterdir())
    for page in pages:
        back = parsed((folder / page).read_text(encoding="utf-8"))
        assert ("href", "../index.html") in back.attributes


def test_a_file_is_the_page_of_a_table_or_the_overview(
    warehouse: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Alone, without a link that leads nowhere."""
    one, all_of_it = tmp_path / "one.html", tmp_path / "all.html"
    place = ("--warehouse", warehouse)

    code, out, _ = _run(capsys, "a.one", "--report", str(one), "--filter", "id = 1", *place)
    assert (code, out) == (0, f"1 table in {one}\n")
    page = parsed(one.read_text(encoding="utf-8"))
    assert "a.one" in page.text_of("title")
    assert re.search(r"id\W+1", page.text_of("code"))
    code, out, _ = _run(capsys, "--report", str(all_of_it), *place)
    assert code == 0
    assert "broken: a.half: table 'a.half': change store" in out
    places = parsed(all_of_it.read_text(encoding="utf-8")).attributes
    assert all(value.startswith(("#", "data:")) for name, value in places if name == "href")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("a.one", "a.two", "--report", "x.html"), 1, "2 tables are named; expected a folder"),
        (("a.none", "--report", "x.html"), 1, "a.none"),
        (("a.one",), 2, "go with --report"),
        (("a.one", "--report", "taken/x.html"), 1, "cannot be written"),
        (("--report", "x", "--warehouse", "missing"), 1, "missing"),
    ],
)
def test_what_cannot_be_written_is_one_line(
    warehouse: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    """And nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARCTIC_WAREHOUSE", warehouse)
    (tmp_path / "taken").write_text("a file where a folder is wanted")
    left, out, err = _run(capsys, *arguments)

    assert (left, out) == (code, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "x.html").exists()


def test_a_named_table_that_is_not_there_is_a_row_of_a_folder(
    warehouse: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other that was named is drawn."""
    code, out, _ = _run(
        capsys, "a.one", "a.none", "--report", str(tmp_path / "r"), "--warehouse", warehouse
    )

    assert code == 0
    assert out.startswith("1 table in ")
    assert "broken: a.none" in out
