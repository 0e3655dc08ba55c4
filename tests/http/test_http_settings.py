"""Where the face listens, and who may call: refused before anything begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from arctic.errors import InvalidInputError, StorageError
from arctic.http.http_settings import HttpSettings

TOKEN = "sixteen-or-more-1"


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("127.0.0.1:8710", "127.0.0.1", 8710),
        ("localhost:0", "localhost", 0),
        ("[::1]:80", "::1", 80),
    ],
)
def test_this_machine_needs_no_token(address: str, host: str, port: int) -> None:
    """Whichever of its own addresses it is."""
    settings = HttpSettings.of(address, None, {})
    assert (settings.host, settings.port, settings.token) == (host, port, None)


def test_a_token_is_taken_from_a_file_or_the_environment(tmp_path: Path) -> None:
    """The file wins; what is printed of the settings does not show it."""
    file = tmp_path / "token"
    file.write_text(f" {TOKEN}\n")
    environment = {"ARCTIC_HTTP_TOKEN": "another-token-of-length"}
    of_file = HttpSettings.of("0.0.0.0:80", str(file), environment)
    of_environment = HttpSettings.of("0.0.0.0:80", None, environment)
    assert (of_file.token, of_environment.token) == (TOKEN, "another-token-of-length")
    assert TOKEN not in repr(of_file)


@pytest.mark.parametrize("address", ["0.0.0.0:80", "[::]:80", "lake.example:80", "10.0.0.1:80"])
def test_where_others_may_call_a_token_is_needed(address: str) -> None:
    """The error says how it is given."""
    with pytest.raises(InvalidInputError, match="ARCTIC_HTTP_TOKEN"):
        HttpSettings.of(address, None, {})


@pytest.mark.parametrize("address", ["", "8080", ":80", "host:", "host:x", "host:99999", "a/b:80"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    """With an example."""
    with pytest.raises(InvalidInputError, match="expected host:port"):
        HttpSettings.of(address, None, {})


@pytest.mark.parametrize("token", ["", "short", "with-a-line\nbreak-in-it", "ümlaut-ümlaut-ümlaut"])
def test_a_token_that_is_none_is_refused(tmp_path: Path, token: str) -> None:
    """Also where none would be needed: somebody meant it to count."""
    with pytest.raises(InvalidInputError, match="16 printable ASCII"):
        HttpSettings.of("127.0.0.1:80", None, {"ARCTIC_HTTP_TOKEN": token})
    with pytest.raises(StorageError, match="token file"):
        HttpSettings.of("127.0.0.1:80", str(tmp_path / "missing"), {})
