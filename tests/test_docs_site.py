"""The pages become a site: every link leads somewhere, and every public name is on it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import arctic

ROOT = Path(__file__).parent.parent
BUILD = ["-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs/site", "docs"]


def test_the_site_has_every_page_every_name_and_no_dead_link(tmp_path: Path) -> None:
    """A page that no contents name, an anchor that is gone, a docstring that is askew: errors."""
    done = subprocess.run(
        [sys.executable, *BUILD, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    html = (tmp_path / "site" / "api.html").read_text(encoding="utf-8")
    assert [name for name in arctic.__all__ if f'id="arctic.{name}"' not in html] == []


def test_links_of_the_readme_and_its_folders_are_there() -> None:
    """Those to what is no page as well, and what the pages for contributors and of servers name."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    text += (ROOT / "docs" / "servers.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:arctic|docs|tests|changes)/[a-z_/.-]*)`", text)

    assert links
    assert named
    assert [name for name in {*links, *named} if not (ROOT / name).exists()] == []
