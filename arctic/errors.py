"""The error tree: what a caller should do about a failure decides its class.

::

    ArcticError
    ├── InvalidInputError      (also ValueError)          fix the call, the data or the option
    ├── NotFoundError          (also LookupError)         fix the name or the snapshot id
    ├── AlreadyExistsError     (also ValueError)          choose another name, or open what is there
    ├── UnsupportedError       (also NotImplementedError) valid, but not handled rightly here
    ├── FormatError                                       bytes break the format: repair them
    ├── ConflictError                                     another writer won: plan again, retry
    ├── CommitStateUnknownError                           do NOT retry: look whether it landed
    ├── StorageError           (also OSError)             the environment failed: retry later
    └── InternalError                                     one of our invariants broke: report a bug

A message names its subject and value, what is wrong, what was expected and, where known, the
remedy. Every error takes one positional message, so that it survives the pickling between a
Spark executor and the driver.
"""


class ArcticError(Exception):
    """Root of every error that this package raises on purpose."""

    @property
    def message(self) -> str:
        """The text without the class name."""
        return str(self.args[0]) if self.args else ""


class InvalidInputError(ArcticError, ValueError):
    """A call, a row or an option that cannot be carried out as it was given."""


class NotFoundError(ArcticError, LookupError):
    """A table, snapshot, column or file that is named but does not exist."""


class AlreadyExistsError(ArcticError, ValueError):
    """A name that is already taken."""


class UnsupportedError(ArcticError, NotImplementedError):
    """Something valid that this version cannot handle, and refuses to read or write wrongly."""


class FormatError(ArcticError):
    """Bytes or metadata that break the format: a corrupt file, a half-made table pair."""


class ConflictError(ArcticError):
    """Another writer won a race, and the retries that are safe were used up."""


class CommitStateUnknownError(ArcticError):
    """A commit whose outcome could not be learnt: it may have landed."""


class StorageError(ArcticError, OSError):
    """A catalog or file system that failed for reasons outside the table."""

    def __str__(self) -> str:
        """Return the message: OSError would format its arguments as an errno."""
        return self.message


class InternalError(ArcticError):
    """An invariant of this package that does not hold."""
