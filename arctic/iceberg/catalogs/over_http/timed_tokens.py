"""Tokens of OAuth2 whose server is given up on: PyIceberg's own provider waits for ever.

It is that of a configuration, ``auth: {type: oauth2, ...}``; one that is given by ``credential``
asks by the session of its catalog, as everything else does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import requests
from pyiceberg.catalog.rest.auth import OAuth2TokenProvider

Post = Callable[..., requests.Response]


class TokenError(requests.RequestException):
    """No token was given, so nothing of what it was for has been sent."""


class TimedTokenProvider(OAuth2TokenProvider):
    """A provider that asks by a function of its catalog's."""

    def __init__(self, given: OAuth2TokenProvider, post: Post) -> None:
        """Take the place of another.

        Args:
            given: the one that PyIceberg made.
            post: asks as ``requests.post`` does, and gives up after a while.
        """
        super().__init__(
            given.client_id,
            given.client_secret,
            given.token_url,
            given.scope,
            given.refresh_margin,
            given.expires_in,
        )
        self._post = post

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what no other process can have: files that are signed for ask there, too."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was sent."""
        vars(self).update(state, _lock=threading.Lock())

    def _refresh_token(self) -> None:
        wanted = {
            "grant_type": "client_credentials",
            **({"scope": self.scope} if self.scope else {}),
        }
        headers = {"Authorization": self._client_secret_header}
        try:
            answer = self._post(self.token_url, data=wanted, headers=headers)
            answer.raise_for_status()
            said = answer.json()
            token, lasts = said["access_token"], said.get("expires_in", self.expires_in)
            self._expires_at = int(time.monotonic()) + int(lasts) - int(self.refresh_margin)
        except requests.RequestException as error:
            raise TokenError(f"no OAuth2 token: {error}", request=error.request) from error
        except (KeyError, TypeError, ValueError) as error:
            # It quotes nothing of the answer, in which a token may be.
            raise TokenError(
                "no OAuth2 token: the server's answer has no access_token, or no expires_in and "
                "auth.oauth2.expires_in is not set"
            ) from error
        self._token = token
