"""Catalogs that may say no to what they have just done, because they were asked for it twice.

The client of Glue asks again where an answer did not come, and so may a proxy before a REST
catalog. What was done the first time stands in the way of the second, and that one's answer is all
that the caller hears.

A database is asked once, in a transaction, and so is Hive, under a lock: a no of theirs is one.
"""

from __future__ import annotations

import sys

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException

_HIVE = ("pyiceberg.catalog.hive", "HiveCatalog")
"""An extra: a catalog can only be one once it has been imported."""


class NothingSentError(CommitFailedException):
    """A commit was refused before it was sent."""


def may_ask_twice(catalog: Catalog) -> bool:
    """Say whether a refusal of a catalog may be to the second of two requests."""
    module, name = _HIVE
    hive = getattr(sys.modules.get(module), name, SqlCatalog)
    return not isinstance(catalog, (SqlCatalog, hive))


def may_have_landed(catalog: Catalog, refusal: Exception | None) -> bool:
    """Say whether a commit may have landed that a catalog refused in these words."""
    is_sure = refusal is None or isinstance(refusal, NothingSentError)
    return not is_sure and may_ask_twice(catalog)
