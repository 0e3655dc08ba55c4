"""Texts without secrets: what a message, a plan or a log may show of them.

Strategy: libraries quote what they were given. Where the values are known, they are looked for by
themselves; everywhere else by the shapes in which secrets stand in texts: ``user:password@`` in a
URI, its query, ``name=value`` where the name says what it is.

Rules:
    - A property is a secret unless it is known to be none: catalogs have settings without number.
    - An error that says a secret is not chained, because a traceback would print it.

Must not know: catalogs, databases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

HIDDEN = "***"
"""What stands in place of a secret."""

_HARMLESS = frozenset(
    {
        "type",
        "warehouse",
        "name",
        "prefix",
        "py-catalog-impl",
        "py-io-impl",
        "s3.endpoint",
        "s3.region",
        "s3.path-style-access",
        "client.region",
        "glue.region",
        "gcs.project-id",
        "adls.account-name",
        "rest.client.connection-timeout-ms",
        "rest.client.socket-timeout-ms",
    }
)
"""Catalog properties that never hold a secret."""

_LEAST = 4
"""A value with fewer characters would be found inside words that are none."""

_SECRET_NAME = r"(?:password|passwd|pwd|secret|token|credential|(?:access|account|api)[-_.]?key)"
_IS_SECRET_NAME = re.compile(rf"(?<![a-z]){_SECRET_NAME}(?![a-z])", re.IGNORECASE)
# In the URIs of Azure's storage the part before the @ names a container.
_USER_INFO = re.compile(
    r"(?<!abfs)(?<!abfss)(?<!wasb)(?<!wasbs)://"
    r"(?:[^\s/@'\"?#:]*:[^\s@'\"]*|[^\s/@'\"?#]+)@"
)
_QUERY = re.compile(r"\?[^\s'\"<>(),]*=[^\s'\"<>(),]*")
_SETTING = re.compile(
    rf"\b([\w.-]*{_SECRET_NAME}[\w.-]*)(=|[\"']\s*:\s*)(\"[^\"]*\"|'[^']*'|[^\s,;&)]+)",
    re.IGNORECASE,
)

_PLACE_BEGINS = r"(?:[A-Za-z][\w+.-]*:/|/|~/|[A-Za-z]:\\)"
_QUOTED_PLACE = re.compile(rf"(['\"]){_PLACE_BEGINS}[^'\"]*\1")
_PLACE = re.compile(rf"(?<![\w.~*]){_PLACE_BEGINS}[^\s'\",;()]+")


def without_secrets(text: str) -> str:
    """Hide what looks like a secret.

    >>> without_secrets("cannot open postgresql://ann:pa55@host/db?sslkey=k")
    'cannot open postgresql://***@host/db?***'
    >>> without_secrets("bad setting password=pa55; host=here")
    'bad setting password=***; host=here'
    """
    text = _USER_INFO.sub(f"://{HIDDEN}@", text)
    text = _QUERY.sub(f"?{HIDDEN}", text)
    return _SETTING.sub(rf"\1\2{HIDDEN}", text)


def without_places(text: str) -> str:
    """Hide where files and services are, for readers who are not at this machine.

    >>> without_places("cannot read '/my lake/t/1.parquet': s3://b/t is gone; day=1/hour=2 is not")
    "cannot read '***': *** is gone; day=1/hour=2 is not"
    """
    return _PLACE.sub(HIDDEN, _QUOTED_PLACE.sub(rf"\1{HIDDEN}\1", text))


def names_a_secret(name: str) -> bool:
    """Say whether a setting of this name holds a secret.

    >>> names_a_secret("s3.secret-access-key"), names_a_secret("acme.tokenizer")
    (True, False)
    """
    return _IS_SECRET_NAME.search(name) is not None


def may_hold_secret(name: str, value: str) -> bool:
    """Say whether a catalog property could hold one: all but those that are known not to.

    >>> may_hold_secret("uri", "sqlite:////lake/c.db"), may_hold_secret("uri", "http://a:b@host")
    (False, True)
    """
    if name == "uri":
        return without_secrets(value) != value or "://" not in value
    return name not in _HARMLESS or without_secrets(value) != value


@dataclass(frozen=True, slots=True)
class Secrets:
    """Values that no text may show."""

    values: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Secrets:
        """Take all that catalog properties may hold."""
        found: set[str] = set()
        for name, value in properties.items():
            if may_hold_secret(name, value):
                found.update(_parts(value))
        return cls(frozenset(part for part in found if len(part) >= _LEAST))

    def hide(self, text: str) -> str:
        """Hide these values, and what looks like a secret."""
        for value in sorted(self.values, key=lambda value: (-len(value), value)):
            text = text.replace(value, HIDDEN)
        return without_secrets(text)

    def cause(self, error: BaseException) -> BaseException | None:
        """Return an error as the cause of another; None when a traceback would show a secret."""
        return error if all(self.hide(text) == text for text in _texts(error)) else None


NOTHING_KNOWN = Secrets()
"""For places that only see texts."""


def _parts(value: str) -> Iterator[str]:
    """Yield the forms in which libraries quote a value: whole, and the secret parts of a URI."""
    if "://" not in value:
        yield from (value, unquote(value))
        return
    if (query := _QUERY.search(value)) is not None:
        yield query.group()[1:]
    if (info := _USER_INFO.search(value)) is not None:
        both = info.group()[len("://") : -1]
        user, _, password = both.partition(":")
        yield from (both, password or user, unquote(password or user))


def _texts(error: BaseException | None) -> Iterator[str]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield str(error)
        error = error.__cause__ or error.__context__
