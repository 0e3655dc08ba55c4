"""Events by HTTP: a POST of a JSON document."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import requests

from arctic.errors import InvalidInputError
from arctic.service.outlets.outlet import NotToldError

_SECONDS = (3.05, 10)
"""To connect, and between two bytes of an answer."""


def webhook(url: str) -> Callable[[str], None]:
    """Return what posts a document.

    Raises:
        InvalidInputError: an address that is none.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInputError("webhook: expected an address such as 'https://host/path'")

    def tell(document: str) -> None:
        try:
            # A redirect could lead what is told to another host.
            with requests.post(
                url,
                data=document.encode(),
                headers={"content-type": "application/json"},
                timeout=_SECONDS,
                allow_redirects=False,
                stream=True,
            ) as answer:
                status = answer.status_code
        except requests.RequestException as error:
            # Its text has the address, and that is often a secret.
            raise NotToldError(f"{type(error).__name__} at {parts.hostname}") from None
        if not 200 <= status < 300:
            raise NotToldError(f"{parts.hostname} answered {status}; expected 200 to 299")

    return tell
