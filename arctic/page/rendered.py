"""Drawings to HTML: the one place that knows the template engine.

Rules:
    - Every value is escaped, and there is no way around it but for the style sheet and the script
      that are shipped.
    - A page loads nothing: what it needs is in it, or beside it on the same server. Its policy says
      so, and a browser then runs no other script, whatever stood in a name.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from arctic.errors import UnsupportedError
from arctic.page.views import words
from arctic.scan.explain import counted, size_text

_FOLDER = files("arctic.page")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""What no HTML document may hold, and no UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What is around a page."""

    home: str
    """Address of the overview; empty: there is none."""
    is_served: bool
    """A server answers what the page asks; else it is a file, with everything in it."""
    is_read_only: bool = False
    """The server changes nothing, whatever a page asks."""
    above: str = ""
    """Address of the page of all catalogs; empty: there is none."""


def render(template: str, frame: Frame, **values: Any) -> str:
    """Return a page.

    Args:
        template: its file name.
        frame: what is around it.
        values: what it shows.

    Raises:
        UnsupportedError: Jinja is not installed.
    """
    text: str = (
        _environment()
        .get_template(template)
        .render(frame=frame, shipped=shipped(), policy=policy(), **values)
    )
    return text


def policy() -> str:
    """Return the content security policy of a page that is a file; a server sends its own."""
    style, script = (_digest(shipped()[name]) for name in ("page.css", "page.js"))
    return (
        f"default-src 'none'; style-src '{style}'; script-src '{script}'; img-src data:; "
        "form-action 'none'; base-uri 'none'"
    )


@cache
def shipped() -> Mapping[str, str]:
    """Return the style sheet and the script, by file name."""
    return {
        name: _FOLDER.joinpath("shipped").joinpath(name).read_text(encoding="utf-8")
        for name in ("page.css", "page.js")
    }


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def _environment() -> Any:
    try:
        import jinja2  # noqa: PLC0415 - an extra, which few processes need
    except ImportError as error:
        raise UnsupportedError(
            "pages need Jinja; install the extra, in a checkout: pip install '.[serve]'"
        ) from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("arctic.page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "age": words.age_text,
        "count": lambda number: f"{number:,}",
        "counted": counted,
        "moment": words.moment_text,
        "quoted": lambda text: quote(_printable(text), safe=""),
        "seconds": words.seconds_text,
        "share": words.share_text,
        "size": size_text,
    }
    return environment


def _printable(value: Any) -> Any:
    """Replace what no page can hold; what the engine made of templates is left as it is."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return _UNPRINTABLE.sub("\ufffd", value)
    return value
