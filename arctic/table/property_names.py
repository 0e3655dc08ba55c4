"""Every name in the metadata of tables and files that is Arctic's own, once.

Rules:
    - A name of ours begins with ``arctic.``. Those without the prefix are older than Arctic: other
      readers of the format look for them.
    - Users neither set nor remove these; what a store holds of them is left out where the
      properties of one store are copied to another.
    - Each prefix is reserved as a whole, so that a name of tomorrow is free in every table of
      today.
    - A property that a user may set is an option, see ``arctic.options``.

Must not know: what the values mean.
"""

from __future__ import annotations

TABLE_FORMAT = "table-format"
STORE = "mixed-format.table-store"
PRIMARY_KEY = "mixed-format.primary-key-fields"
CHANGE_IDENTIFIER = "mixed-format.change.identifier"
CREATED = "table.create-timestamp"
LEGACY_OPTIMIZED_SEQUENCE = "table.partition-properties"
"""The optimized sequence, for readers that need it in a property."""
WATERMARK = "watermark.table"
"""Of each store; also a key in its summaries: milliseconds since 1970-01-01 UTC."""
BASE_WATERMARK = "watermark.base"
"""The same of the base store; never stored as a property."""

BASE_UUID = "arctic.base-uuid"
"""On a change store that Arctic made: the ``table-uuid`` of its base store."""
NAMES_BASE = "arctic.change-names-base"
"""On a base store that Arctic made: its change store carries ``BASE_UUID``."""
CHANGE_MOVES_TO = "arctic.change-moves-to"
"""On a base store, while its table is renamed: where its change store is, once it has left."""
OPENED_BY = "arctic.opened-by"
"""Among the properties of a catalog that is open, and of its files: who opened it, as a digest."""
GLUE_RENAME = "arctic.rename"
"""On an entry of Glue: which rename made it, or made it one of no table."""
OPTIMIZED_SEQUENCE = "arctic.optimized-sequence"
"""In the summary of a base snapshot: the path of the Puffin file that says what is merged. Also a
property, where the legacy one would be longer than the catalog takes."""
SEQUENCE_WRITTEN_AT = "arctic.optimized-sequence-written-at"
"""The sequence number of the snapshot with which the other properties were written: they outlive a
rollback."""
TREES = "arctic.tree"
"""On a base store: which nodes new files of each partition go to; see ``node_trees``."""
SIZING = "arctic.sizing"
"""On a base store: what runs measured, and what was chosen by it; see ``table_sizing``."""
PARTITION_TIMES = "arctic.optimized-times"
"""Without a primary key: when each partition was optimized last; see ``partition_times``."""
OPTIMIZED_TIME = "arctic.optimized-time"
"""The last run in whatever partition it was; earlier versions set this and the next."""
FULL_OPTIMIZED_TIME = "arctic.full-optimized-time"
"""Also the type of the blob with the times of full runs: Amoro keeps them in a database."""
MIRROR_SOURCE = "arctic.cdc.source"
"""What a mirrored table remembers of its source."""
LEASE = "arctic.lease"
"""On a base store: who works on it, and until when: milliseconds since 1970-01-01 UTC."""
CLEANED_TIME = "arctic.cleaned-time"
"""On a base store: when a service cleaned it last, or first looked what it would clean."""
SERVICE_PREFIX = "arctic.service."
"""On a namespace, followed by the name of a group: the service that looks after its tables, and
until when, as in a lease."""
STREAM_PREFIX = "arctic.stream."
"""Followed by the id of a writer of batches; the value is its last batch."""
STREAM_POSITION_PREFIX = "arctic.stream-position."
"""Followed by the id of a writer of batches; the value is where it was in its source then."""
REQUIRES = "arctic.requires"
"""On a base store: what a reader must know, joined by ``,``; who does not know it refuses the
table."""
VIEW = "arctic.view"
"""On the base store of a view: what it is of, as JSON."""
ADOPTED = "arctic.adopted"
"""On a base store that was a plain Iceberg table: the properties that it has had since then, and
that it loses when it is released; joined by ``,``."""
RELEASED_CHANGES = "arctic.released-changes"
"""On a store that was the base of a pair: how far its change store had come when it was released
last. That of a later adoption begins beyond the next number, which nobody ever finds."""
PUBLISHED_PREFIX = "arctic.published."
"""On a base store, followed by the name of a table that shows its merged view; the value is the
form that it was made in."""
PUBLISHED_OF = "arctic.published-of"
"""On a table that shows a merged view: the ``table-uuid`` of the base store that it is of."""
CLONED = "arctic.cloned"
"""On a base store: clones were made of its table, which may refer to the files of both stores."""
CLONE_OF = "arctic.clone-of"
"""On each store of a clone: the ``table-uuid`` of every store whose files it may refer to, joined
by ``,``. It stays on base when the clone is released."""
PUBLISHED_OUTPUT = "arctic.published-output"
"""On such a table: how it leaves dead rows out."""
WRITER_PREFIX = "arctic.watermark."
"""Followed by the name of a writer; the value is its own watermark."""
WINDOW_PREFIX = "arctic.windows."
"""On a base store, followed by the name of whoever is given its windows: how long they are, and
where the next one begins, in milliseconds."""

PUBLISHED_BASE = "arctic.published-base-snapshot"
"""In the summary of a snapshot that shows a merged view: the base snapshot of that view, or
``none``."""
PUBLISHED_CHANGE = "arctic.published-change-snapshot"
"""The same of the change store."""
MERGED_UP_TO = "arctic.merged-up-to"
"""In the summary of a base snapshot that carries the optimized sequence: the greatest of it."""
RESTORED_FROM = "arctic.restored-from"
"""In the summary of a snapshot that restores an earlier state: that snapshot of its store, or
``none``."""
RESTORED_OVER = "arctic.restored-over"
"""In the summary of such a snapshot: the one that was current before it. Its parent is the one that
it was restored from."""
RESTORED_OVER_CHANGES = "arctic.restored-over-changes"
"""On a base store: the sequence number of the newest change that the last restore has hidden."""
FOLLOWS = "arctic.follows"
"""In the summary of a snapshot that lies on one that added no file: the sequence number of that
one."""
CLONED_FROM = "arctic.cloned-from"
"""In the summary of the first snapshot of a clone: that of its source that it shows."""
COMMITTED_BESIDE = "arctic.committed-beside"
"""On a store: a mark of a commit to the other one that has looked at this one, or replaces rows
that its writers look at. It begins with the id of the snapshot there, and no two are alike."""
TAG_PREFIX = "arctic.tag."
"""On a base store, followed by the name of a tag: the ids of its base and its change snapshot."""
CONSUMER_PREFIX = "arctic.consumer."
"""On a base store, followed by the name of a consumer: how far it has come, as JSON."""
OPTIMIZE_TYPE = "arctic.optimize-type"
"""In the summary of a run of optimizing: the types that it was of."""
STREAM_QUERY = "arctic.stream-query-id"
"""In the summary of a batch: the id of its writer."""
STREAM_BATCH = "arctic.stream-batch-id"
"""In the summary of a batch: its number."""
WATERMARK_WRITER = "arctic.writer"
"""In a summary: the writer whose watermark the snapshot noted."""
FOOTER_CHECKSUM = "arctic.footer-checksum"
"""In the footer of a Parquet file."""
INDEX_CHECKSUM = "arctic.index-checksum"
"""In the footer of a Parquet file with bloom filters."""
CHOSEN_IO = "arctic.py-io-impl"
"""Never stored: in the properties of a FileIO, the one that the user has chosen."""

OPTION_PREFIXES = (
    *("base.", "change.", "clean-orphan-file.", "consumer.", "data-expire.", "merge."),
    *("read.deletion-vector.", "self-optimizing.", "snapshot.keep.", "table.", "write.upsert."),
)
"""How options begin that a table keeps as properties; what is unknown behind one of them is an
option mistyped."""

_PREFIXES = ("arctic.", "mixed-format.", "watermark.")
_NAMES = frozenset({TABLE_FORMAT, CREATED, LEGACY_OPTIMIZED_SEQUENCE})


def is_own(name: str) -> bool:
    """Say whether only Arctic sets a property, however it is spelt.

    >>> is_own("arctic.stream.q"), is_own("Table-Format"), is_own("owner")
    (True, True, False)
    """
    return name.lower() in _NAMES or name.lower().startswith(_PREFIXES)
