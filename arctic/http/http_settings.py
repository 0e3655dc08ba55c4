"""Where the HTTP face listens, and who may call it."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arctic.errors import InvalidInputError, StorageError
from arctic.job.nudge import TOKEN_VARIABLE

_LEAST_TOKEN = 16
_ADDRESS = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[\w.-]+):(?P<port>\d{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """One address, and the token that its callers must show."""

    host: str
    port: int
    """0: any that is free."""
    token: str | None = field(default=None, repr=False)
    """None: whoever is at this machine may call."""

    @classmethod
    def of(
        cls, address: str, token_file: str | None, environment: Mapping[str, str] = os.environ
    ) -> HttpSettings:
        """Read where to listen, and the token.

        Args:
            address: ``host:port``.
            token_file: holds the token; None: the environment may.
            environment: of this process.

        Raises:
            InvalidInputError: an address that is none, a token that is too short, or none where
                other machines may call.
            StorageError: the file cannot be read.
        """
        match = _ADDRESS.fullmatch(address.strip())
        if match is None or int(match["port"]) > 65_535:
            raise InvalidInputError(
                f"http address {address!r}; expected host:port, such as '127.0.0.1:8710'"
            )
        host, token = match["host"].strip("[]"), _token(token_file, environment)
        if token is None and not is_loopback(host):
            raise InvalidInputError(
                f"http address {address!r}: other machines may call it, so it needs a token of "
                f"{_LEAST_TOKEN} characters or more; expected a file of it (http-token-file) or "
                f"{TOKEN_VARIABLE}, or an address of this machine alone such as '127.0.0.1:8710'"
            )
        return cls(host=host, port=int(match["port"]), token=token)


def is_loopback(host: str) -> bool:
    """Say whether a host means this machine alone.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("a.b")
    (True, True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _token(token_file: str | None, environment: Mapping[str, str]) -> str | None:
    if token_file is not None:
        try:
            text = Path(token_file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise StorageError(f"token file {token_file!r}: {error}") from error
        where = f"token file {token_file!r}"
    elif TOKEN_VARIABLE in environment:
        text, where = environment[TOKEN_VARIABLE], TOKEN_VARIABLE
    else:
        return None
    token = text.strip()
    if len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable():
        raise InvalidInputError(
            f"{where}: expected a token of {_LEAST_TOKEN} printable ASCII characters or more, such "
            "as python -c 'import secrets; print(secrets.token_urlsafe())' prints"
        )
    return token
