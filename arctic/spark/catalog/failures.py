"""What Spark calls the failures of a catalog.

Must not know: how a question is answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from arctic.errors import AlreadyExistsError, ArcticError, InvalidInputError, NotFoundError
from arctic.spark.base.catalog_protocol import FailureKind
from arctic.spark.base.protocol import Failure


class CatalogFailureError(InvalidInputError):
    """A failure that Spark has a name for."""

    def __init__(self, message: str, kind: FailureKind = FailureKind.OTHER) -> None:
        """Say what Spark calls it."""
        super().__init__(message)
        self.kind = kind


@contextmanager
def failures_of(
    *, missing: FailureKind = FailureKind.OTHER, exists: FailureKind = FailureKind.OTHER
) -> Iterator[None]:
    """Say what it means in this block that something is missing, or there already."""
    try:
        yield
    except NotFoundError as error:
        raise CatalogFailureError(error.message, missing) from error
    except AlreadyExistsError as error:
        raise CatalogFailureError(error.message, exists) from error


def failure_of(error: ArcticError) -> Failure:
    """Return the answer that tells Spark of an error."""
    kind = error.kind if isinstance(error, CatalogFailureError) else FailureKind.OTHER
    return Failure(error=error.message, kind=kind.value)
