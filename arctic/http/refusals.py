"""Failures as answers: a status, and the project's text without paths or secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from arctic.errors import (
    AlreadyExistsError,
    ArcticError,
    ConflictError,
    InternalError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from arctic.iceberg.catalogs.opening import MissingCatalogError
from arctic.redact import Secrets, without_places

_STATUSES: tuple[tuple[type[ArcticError], int], ...] = (
    (InvalidInputError, 400),
    (NotFoundError, 404),
    (AlreadyExistsError, 409),
    (ConflictError, 409),
    (UnsupportedError, 501),
    (StorageError, 503),
)
_LONGEST_INPUT = 80
_AWAY = StorageError(
    "the file of the catalog is gone; put it back: the service goes on with it by itself"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """Texts as they may leave this machine."""

    secrets: Secrets = field(default_factory=Secrets)

    @classmethod
    def of(cls, place: Mapping[str, str]) -> Shown:
        """Hide what the options of a catalog hold."""
        return cls(
            Secrets.of({name.removeprefix("catalog."): text for name, text in place.items()})
        )

    def text(self, text: str) -> str:
        """Return a text without secrets and paths."""
        return without_places(self.secrets.hide(text))

    def optional(self, text: str | None) -> str | None:
        """Return a text without secrets and paths, where there is one."""
        return None if text is None else self.text(text)


def refusal(status: int, kind: str, message: str, **headers: str) -> JSONResponse:
    """Return a failure as every one of them is answered."""
    said = {"error": {"kind": kind, "message": message}}
    return JSONResponse(said, status_code=status, headers=headers)


def as_told(error: ArcticError) -> ArcticError:
    """Return an error as callers see it: a catalog that is gone is not their mistake."""
    return _AWAY if isinstance(error, MissingCatalogError) else error


def status_of(error: ArcticError) -> int:
    """Return the status that tells a caller what an error tells to do."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def answers(shown: Shown) -> dict[type[Exception], Callable[..., JSONResponse]]:
    """Return what answers each kind of error."""

    def ours(_request: object, error: ArcticError) -> JSONResponse:
        told = as_told(error)
        return refusal(status_of(told), type(told).__name__, shown.text(told.message))

    def wrong_request(_request: object, error: RequestValidationError) -> JSONResponse:
        message = "; ".join(_said(each) for each in error.errors())
        return refusal(400, InvalidInputError.__name__, shown.text(message))

    def plain(_request: object, error: HTTPException) -> JSONResponse:
        kind, message = InvalidInputError.__name__, str(error.detail)
        if error.status_code == 404:
            kind = NotFoundError.__name__
            message = "no such page; /openapi.json lists all there are"
        return refusal(error.status_code, kind, message, **(error.headers or {}))

    def unexpected(_request: object, error: Exception) -> JSONResponse:
        text = f"unexpected {type(error).__name__}; the log of the service tells more"
        return refusal(500, InternalError.__name__, text)

    return {
        ArcticError: ours,
        RequestValidationError: wrong_request,
        HTTPException: plain,
        Exception: unexpected,
    }


def _said(problem: Mapping[str, object]) -> str:
    """Return one problem of a request as a text."""
    place = problem.get("loc")
    where = ".".join(map(str, place)) if isinstance(place, tuple) else "request"
    given = repr(problem.get("input"))
    if len(given) > _LONGEST_INPUT:
        given = f"{given[:_LONGEST_INPUT]}..."
    return f"{where} = {given}: {problem.get('msg')}"
