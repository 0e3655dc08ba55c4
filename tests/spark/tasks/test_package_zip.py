"""The package as one file: a Python that has all but Arctic works with it."""

from __future__ import annotations

import json
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import arctic
from arctic.cli.main import main
from arctic.spark.tasks.workers import _look

WITHOUT_LINKS = """
import json, sys
sys.path[:0] = {path}
import arctic, pyspark_arctic
from arctic.spark.read import partition_reader
from arctic.spark.write import task_writer
from arctic.page.rendered import shipped
from arctic.spark.jvm.jar import sources
assert shipped() and sources()
arctic.package_zip({again!r})
print(json.dumps([arctic.__version__, arctic.__file__, task_writer.__file__]))
"""


def test_what_tasks_import_comes_out_of_the_zip(tmp_path: Path) -> None:
    """In a Python that sees packages, but no link to the sources of this one; and so does a zip."""
    made = arctic.package_zip(tmp_path / "new" / "arctic.zip")
    again = tmp_path / "again.zip"
    program = WITHOUT_LINKS.format(path=[made, site.getsitepackages()[0]], again=str(again))
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stderr
    version, *places = json.loads(done.stdout)
    assert version == arctic.__version__
    assert Path(made).stat().st_mode & 0o777 == 0o644
    assert all(place.startswith(made) for place in places)
    assert again.read_bytes() == Path(made).read_bytes()


def test_the_same_package_is_the_same_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """However it is made; nothing that a machine has compiled is in it."""
    made = Path(arctic.package_zip(tmp_path / "a.zip"))
    with pytest.raises(SystemExit) as ended:
        main(["package", "--out", str(tmp_path / "b.zip")])

    assert ended.value.code == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "b.zip")
    assert made.read_bytes() == (tmp_path / "b.zip").read_bytes()
    names = zipfile.ZipFile(made).namelist()
    assert "arctic/__init__.py" in names
    assert not [name for name in names if "__pycache__" in name]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """And what was there stays."""
    (tmp_path / "folder").touch()
    with pytest.raises(arctic.StorageError, match=r"cannot write '.*folder/arctic\.zip': "):
        arctic.package_zip(tmp_path / "folder" / "arctic.zip")
    (tmp_path / "taken").mkdir()
    with pytest.raises(arctic.StorageError, match=r"cannot write '.*taken': "):
        arctic.package_zip(tmp_path / "taken")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "taken"]


def test_another_version_of_the_package_is_not_enough() -> None:
    """What one process pickles, another version may read as something else."""
    found = _look(("arctic",), "9.9")(0)

    assert found is not None
    assert found.endswith(f"which has arctic {arctic.__version__}, and this process 9.9")
    assert _look(("arctic",), arctic.__version__)(0) is None
