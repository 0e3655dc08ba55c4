"""Changes of both stores of a table that make no snapshot, in one request where a catalog takes it.

Rules:
    - What is to be changed is planned anew after a yes: not every server that says so has done it.
    - Nothing to do is no failure, so that a call can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from arctic.iceberg.catalogs.over_http.timed_rest import TimedRestCatalog
from arctic.iceberg.catalogs.staged_metadata import TableCommit
from arctic.iceberg.translate import catalog_errors
from arctic.retry import RetryPolicy


def takes_at_once(stores: Sequence[Table]) -> bool:
    """Say whether stores are several, and their catalog commits to all of them in one request."""
    catalog = stores[0].catalog
    if len(stores) < 2 or not isinstance(catalog, TimedRestCatalog):
        return False
    return catalog.commits_several(stores)


def commit_at_once(
    stores: Sequence[Table],
    plan: Callable[[], Sequence[TableCommit]],
    *,
    policy: RetryPolicy,
    action: str,
) -> bool | None:
    """Commit what a plan says until it says nothing.

    Args:
        stores: of which ``takes_at_once`` is true.
        plan: looks at the stores as they are then; those that need no change are left out.
        policy: how often.
        action: for messages.

    Returns:
        Whether anything was committed; None: other commits won every try.

    Raises:
        CommitStateUnknownError: the catalog did not answer.
        StorageError: it cannot be reached.
    """
    catalog, has_committed = stores[0].catalog, False
    assert isinstance(catalog, TimedRestCatalog)
    for _ in policy.tries():
        commits = plan()
        if commits:
            with catalog_errors(action):
                try:
                    catalog.commit_several(commits)
                except CommitFailedException:
                    continue
            has_committed = True
            commits = plan()
        if not commits:
            return has_committed
    return None
