"""A commit for which a metastore gave no lock: it did not land, and nothing of it was sent."""

from pyiceberg.exceptions import CommitFailedException


class LockRefusedError(CommitFailedException):
    """Says who has the lock, or what the metastore said; to try again is of use."""
