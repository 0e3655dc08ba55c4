"""The error tree is public: callers catch its classes, and executors send them."""

from __future__ import annotations

import pickle

import pytest

from arctic import errors
from arctic.errors import ArcticError, StorageError

TREE: dict[str, tuple[type[BaseException], ...]] = {
    "AlreadyExistsError": (ValueError,),
    "CommitStateUnknownError": (),
    "ConflictError": (),
    "FormatError": (),
    "InternalError": (),
    "InvalidInputError": (ValueError,),
    "NotFoundError": (LookupError,),
    "StorageError": (OSError,),
    "UnsupportedError": (NotImplementedError,),
}


def _classes() -> dict[str, type[ArcticError]]:
    return {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, ArcticError) and value is not ArcticError
    }


def test_every_error_is_in_the_tree_and_nothing_else_is() -> None:
    """A new class must be given its place here, in the drawing and in the documentation."""
    assert set(TREE) == set(_classes())


@pytest.mark.parametrize("name", sorted(TREE))
def test_an_error_is_also_the_builtin_that_python_users_catch(name: str) -> None:
    """``except ValueError`` and the like work; no class inherits from another leaf."""
    assert _classes()[name].__bases__ == (ArcticError, *TREE[name])


@pytest.mark.parametrize("name", sorted(TREE))
def test_an_error_is_drawn_and_documented(name: str) -> None:
    """The drawing in the module is complete."""
    assert errors.__doc__ is not None

    assert f"── {name} " in errors.__doc__
    assert _classes()[name].__doc__


@pytest.mark.parametrize("name", sorted(TREE))
def test_an_error_survives_pickling(name: str) -> None:
    """Executors send errors to the driver by pickle; class and message arrive."""
    sent = _classes()[name]("table 'db.users': no such table")

    received = pickle.loads(pickle.dumps(sent))

    assert type(received) is type(sent)
    assert received.message == "table 'db.users': no such table"
    assert str(received) == received.message


def test_a_storage_error_prints_its_message_not_an_errno() -> None:
    """OSError reads two arguments as errno and text; ours stays one message."""
    assert str(StorageError("bucket 'b' does not answer")) == "bucket 'b' does not answer"


def test_an_error_without_a_message_prints_nothing() -> None:
    """The message property never fails, also on an error that was raised bare."""
    assert ArcticError().message == ""
