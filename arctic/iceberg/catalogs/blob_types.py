"""Tables whose metadata lists statistics blobs of a type that PyIceberg does not know.

PyIceberg accepts two blob types and cannot load a table that names another one, though the Iceberg
spec leaves the set open and Amoro's optimizer writes its own. Only this process is changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel
from pyiceberg.table.statistics import BlobMetadata

from arctic.errors import InternalError

_CLOSED_SET = "deletion-vector-v1"
"""One of the two accepted types: it stands in every compiled validator that holds the check."""
_MAX_PASSES = 10


def accept_any_blob_type() -> None:
    """Let metadata name any blob type; doing it again changes nothing.

    Raises:
        InternalError: PyIceberg's models have another form than this was written for.
    """
    if _CLOSED_SET not in _validator(BlobMetadata):
        return
    BlobMetadata.model_fields["type"].annotation = str
    BlobMetadata.model_rebuild(force=True)
    closed = [model for model in set(_models(BaseModel)) if _CLOSED_SET in _validator(model)]
    for _ in range(_MAX_PASSES):
        if not closed:
            return
        # A compiled validator holds copies of the nested ones, so each is longer than those, and
        # made after them: once, as it takes milliseconds.
        for model in sorted(closed, key=lambda model: len(_validator(model))):
            model.model_rebuild(force=True)
        closed = [model for model in closed if _CLOSED_SET in _validator(model)]
    raise InternalError(f"blob types are still checked by {[model.__name__ for model in closed]}")


def _models(parent: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in parent.__subclasses__():
        if model.__module__.startswith("pyiceberg."):
            yield model
        yield from _models(model)


def _validator(model: type[BaseModel]) -> str:
    return repr(model.__dict__.get("__pydantic_core_schema__"))
