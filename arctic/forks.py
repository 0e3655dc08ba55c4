"""What a child of a fork begins without: a thread that it does not have may hold any lock.

Rules:
    - Whoever is named here and is still there forgets in each child; nobody is kept by that.

Must not know: what is forgotten.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Forgetful(Protocol):
    """What can begin anew."""

    def forget(self) -> None:
        """Begin anew, with a lock that nobody holds."""


_ALL: WeakSet[Forgetful] = WeakSet()
"""Of this process. The hook holds none of them: it can never be taken back."""


def forgets_in_children(each: Forgetful) -> None:
    """Have something begin anew in every child of a fork, for as long as it is there."""
    _ALL.add(each)


def _forget_all() -> None:
    for each in list(_ALL):
        each.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
