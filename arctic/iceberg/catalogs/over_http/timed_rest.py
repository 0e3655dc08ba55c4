"""REST catalogs whose calls end: PyIceberg's own client waits for an answer for ever.

Rules:
    - The properties are those of Iceberg's Java client: one configuration serves both.
    - A commit that was sent, and whose answer did not come, may have landed. Nobody is told that it
      failed. A failure that a proxy may have said, or an answer that nobody can read, is none.
    - The time is that between two bytes of an answer. A server that sends one now and then is
      waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import requests
from pydantic import Field
from pydantic import ValidationError as ModelError
from pyiceberg.catalog import TOKEN
from pyiceberg.catalog.rest import Endpoint, HttpMethod, RestCatalog
from pyiceberg.catalog.rest.auth import AuthManagerAdapter, OAuth2AuthManager
from pyiceberg.catalog.rest.response import _handle_non_200_response
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    RESTError,
    ServerError,
    ServiceUnavailableError,
)
from pyiceberg.table import CommitTableRequest, CommitTableResponse, Table
from pyiceberg.typedef import IcebergBaseModel
from urllib3.exceptions import MaxRetryError, NewConnectionError

from arctic.errors import InvalidInputError
from arctic.iceberg.catalogs.over_http.timed_tokens import TimedTokenProvider, TokenError
from arctic.iceberg.catalogs.staged_metadata import NO_SNAPSHOT, TableCommit

CONNECTION_TIMEOUT = "rest.client.connection-timeout-ms"
SOCKET_TIMEOUT = "rest.client.socket-timeout-ms"
_DEFAULT_MS = {CONNECTION_TIMEOUT: 10_000, SOCKET_TIMEOUT: 60_000}
_NO_TABLE = "NoSuchTableException: "
"""How a server itself says of a commit that the table is gone; a proxy has not these words."""
_SEVERAL = Endpoint(http_method=HttpMethod.POST, path="/v1/{prefix}/transactions/commit")


class TimedRestCatalog(RestCatalog):
    """A REST catalog that gives up on a server that does not answer."""

    def _config_headers(self, session: requests.Session) -> None:
        # The first step of every session: the second may ask for a token already.
        timeouts = _Timeouts.of(self.name, self.properties)
        session.request = partial(timeouts.ask, session.request)  # type: ignore[method-assign]
        super()._config_headers(session)

    def _create_session(self) -> requests.Session:
        session = super()._create_session()
        adapter = session.auth
        if isinstance(adapter, AuthManagerAdapter):
            manager = adapter.auth_manager
            if isinstance(manager, OAuth2AuthManager):
                post = partial(_Timeouts.of(self.name, self.properties).ask, requests.post)
                manager.token_provider = TimedTokenProvider(manager.token_provider, post)
        return session

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        """Commit; an answer that did not come is an outcome that nobody knows."""
        with self._or_unknown():
            answer: CommitTableResponse = super().commit_table(table, requirements, updates)
        return answer

    def commits_several(self, tables: Sequence[Table]) -> bool:
        """Say whether the server commits to these tables in one request."""
        # A token of its own for each table is more than one request can carry.
        return _SEVERAL in self._supported_endpoints and not any(
            TOKEN in table.config for table in tables
        )

    def commit_several(self, commits: Sequence[TableCommit]) -> None:
        """Commit to several tables, all or none; the answer tells nothing of their new metadata.

        Raises:
            CommitFailedException: a requirement of one does not hold, or others were faster.
            CommitStateUnknownException: all may have been committed.
        """
        request = _CommitSeveral(table_changes=tuple(map(_request, commits)))
        with self._or_unknown():
            response = self._session.post(
                self.url("transactions/commit"),
                data=request.model_dump_json().encode(),
                headers=self._session.headers,
            )
            try:
                response.raise_for_status()
            except requests.HTTPError as error:
                _handle_non_200_response(error, {409: CommitFailedException})

    @contextmanager
    def _or_unknown(self) -> Iterator[None]:
        """Let what does not say that a commit failed say that nobody knows."""
        try:
            yield
        except requests.RequestException as error:
            if isinstance(error, TokenError) or _is_of_connecting(error):
                raise
            raise CommitStateUnknownException(str(error)) from error
        except (ServiceUnavailableError, ServerError) as error:
            raise CommitStateUnknownException(str(error)) from error
        except RESTError as error:
            is_refusal = str(error).startswith(_NO_TABLE) or NO_SNAPSHOT in str(error)
            if not is_refusal:
                raise
            raise CommitFailedException(str(error)) from error
        except ModelError as error:
            # It quotes the answer, which may be a page of whoever stands between.
            text = f"catalog {self.name!r} answered a commit with what is no metadata of a table"
            raise CommitStateUnknownException(text) from error


class _CommitSeveral(IcebergBaseModel):
    """The body of a commit to several tables."""

    table_changes: tuple[CommitTableRequest, ...] = Field(serialization_alias="table-changes")


def _request(commit: TableCommit) -> CommitTableRequest:
    *namespace, name = commit.table.name()
    return CommitTableRequest.model_validate(
        {
            "identifier": {"namespace": namespace, "name": name},
            "requirements": commit.requirements,
            "updates": commit.updates,
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timeouts:
    """How long a server is waited for."""

    catalog: str
    milliseconds: Mapping[str, int]
    """Property -> time."""

    @classmethod
    def of(cls, catalog: str, properties: Mapping[str, object]) -> _Timeouts:
        """Read the properties of a catalog.

        Raises:
            InvalidInputError: one that is no number above 0.
        """
        return cls(
            catalog=catalog,
            milliseconds={
                name: default if name not in properties else _number(catalog, name, properties)
                for name, default in _DEFAULT_MS.items()
            },
        )

    def ask(
        self, ask: Callable[..., requests.Response], *given: Any, **named: Any
    ) -> requests.Response:
        """Ask, with a limit to the wait; its error names the server and the property to change."""
        seconds = tuple(number / 1_000 for number in self.milliseconds.values())
        try:
            return ask(*given, **{"timeout": seconds, **named})
        except TokenError:
            raise
        except requests.ConnectTimeout as error:
            text = self._text("could not be connected to", CONNECTION_TIMEOUT)
            raise requests.ConnectTimeout(text, request=error.request) from error
        except requests.Timeout as error:
            text = self._text("did not answer", SOCKET_TIMEOUT)
            raise requests.ReadTimeout(text, request=error.request) from error

    def _text(self, failed: str, name: str) -> str:
        seconds = self.milliseconds[name] / 1_000
        return (
            f"catalog {self.catalog!r} {failed} within {seconds:g} seconds; look whether it is at "
            f"work, or give it more time: catalog.{name}"
        )


def _number(catalog: str, name: str, properties: Mapping[str, object]) -> int:
    text = str(properties[name])
    if not text.isdecimal() or not int(text):
        raise InvalidInputError(
            f"catalog {catalog!r}: {name} = {text!r}; expected a whole number of milliseconds "
            "above 0"
        )
    return int(text)


def _is_of_connecting(error: requests.RequestException) -> bool:
    """Say whether nothing of the request can have been sent."""
    if isinstance(error, requests.ConnectTimeout):
        return True
    reason = error.args[0] if error.args else None
    return isinstance(reason, MaxRetryError) and isinstance(reason.reason, NewConnectionError)
