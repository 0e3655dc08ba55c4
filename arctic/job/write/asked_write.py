"""What a caller's options ask of a write, before its table is open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.job.reference import TableReference, parse_reference
from arctic.options import Scope
from arctic.options.sort_terms import sort_text
from arctic.table.filters.predicate import Predicate
from arctic.table.streams.stream_batch import StreamBatch
from arctic.table.streams.watermark import check_writer
from arctic.table.table_description import TableDescription
from arctic.writing.target import WriteOptions
from arctic.writing.write_request import MissingColumns, WriteMode, WriteRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedWrite:
    """What is written to which table, and how."""

    reference: TableReference
    mode: WriteMode | None
    """None: the table decides."""
    primary_key: tuple[str, ...] | None
    """Of the table that the write creates; None: it creates none."""
    partition_by: tuple[str, ...] | None
    layout: Mapping[str, str]
    """Properties of a table that the write creates: how its rows are to lie."""
    action_column: str | None
    ordering_column: str | None
    missing_columns: MissingColumns | None
    merges_schema: bool
    """The table gets the columns that the rows have more."""
    is_dynamic: bool
    """An overwrite replaces only the partitions that it has rows for."""
    batch: StreamBatch | None
    """Which batch of which stream it is; None: a write of its own."""
    writer_id: str | None
    """Who feeds the table, where that is said."""
    told_ms: int | None
    """How far event time has come, where the writer says so; None: its rows tell."""
    max_tasks: int | None
    spread: str | None
    """What a process tells that has spread the rows; None: nobody has."""
    optimizes: bool
    """The table is optimized once the write is committed."""
    optimize_every: int
    """Batches of a stream from one such run to the next."""
    sets_rows: bool = False
    """Rows are those of a command: what a key had plays no part in what it has then."""
    stored_columns: tuple[str, ...] = ()
    """As those of a ``WriteRequest``."""
    where: Predicate | None = None
    """An overwrite replaces every partition for which it holds, and no other."""
    given: Mapping[str, str] = field(repr=False)
    """All that the call gave, for what a property of the table may say as well."""

    @classmethod
    def of(cls, options: Mapping[str, str], *, overwrite: bool = False) -> AskedWrite:
        """Read ``path``, catalog and write options.

        Args:
            options: what the call gave.
            overwrite: the caller's save mode was overwrite.

        Raises:
            InvalidInputError: an unknown option, a bad value, no table, or options that contradict
                each other.
        """
        options = opt.Texts.of(options)
        opt.check_known(options, Scope.WRITE)
        missing = opt.MISSING_COLUMNS.value(options)
        return cls(
            reference=parse_reference(options),
            mode=_mode(options, overwrite=overwrite),
            primary_key=opt.PRIMARY_KEY.value(options),
            partition_by=opt.PARTITION_BY.value(options),
            layout=_layout(options),
            action_column=opt.ACTION_COLUMN.value(options),
            ordering_column=opt.ORDERING_COLUMN.value(options),
            missing_columns=None if missing is None else MissingColumns(missing),
            merges_schema=opt.MERGE_SCHEMA.value(options),
            is_dynamic=opt.PARTITION_OVERWRITE_MODE.value(options) == "dynamic",
            batch=_batch(options),
            writer_id=opt.WRITER_ID.value(options),
            told_ms=opt.TOLD_WATERMARK.value(options),
            max_tasks=opt.MAX_TASKS.value(options),
            spread=opt.SPREAD.value(options),
            optimizes=opt.OPTIMIZE.value(options) == "auto",
            optimize_every=opt.OPTIMIZE_EVERY.value(options),
            given=_with_known_publish(options),
        )

    def publish_every(self, properties: Mapping[str, str]) -> int | None:
        """Say once how many commits are not published the write publishes them; None: it does not.

        Args:
            properties: of the table; what the call gave wins over them.
        """
        every = opt.PUBLISH_EVERY.value(self.given, properties)
        return every if opt.PUBLISH.value(self.given, properties) == "auto" else None

    def asks_for_more(self, properties: Mapping[str, str]) -> bool:
        """Say whether anything is to be done once the write is committed.

        Args:
            properties: of the table.
        """
        return self.optimizes or self.publish_every(properties) is not None

    @property
    def needs_key(self) -> bool:
        """Whether a table without a key cannot take the write."""
        is_keyed = self.mode in (WriteMode.UPSERT, WriteMode.DELETE)
        return is_keyed or bool(self.action_column or self.ordering_column)

    @property
    def writer(self) -> str | None:
        """Who feeds the table: the writer that is named, else the stream; None: neither.

        Raises:
            InvalidInputError: a name that is none.
        """
        stream = None if self.batch is None else self.batch.query_id
        name = self.writer_id or stream
        return None if name is None else check_writer(name)

    def mode_for(self, table: TableDescription) -> WriteMode:
        """Return what the write means to a table.

        Where nobody says, never a second row of a key, unless the table says that its writers
        give none.
        """
        if self.mode is not None:
            return self.mode
        if not table.is_keyed:
            return WriteMode.APPEND
        return WriteMode(opt.INSERT_MODE.value({}, table.properties))

    def request_for(self, table: TableDescription) -> WriteRequest:
        """Return what is asked of a table, of rows that lie as the caller has them."""
        return WriteRequest(
            mode=self.mode_for(table),
            action_column=self.action_column,
            ordering_column=self.ordering_column,
            stored_order=table.ordering_columns,
            engine=table.merge_engine,
            fold=None if self.sets_rows else table.fold,
            sets_rows=self.sets_rows,
            stored_columns=self.stored_columns,
            missing_columns=self.missing_columns,
        )

    def settings(self, table: TableDescription) -> WriteOptions:
        """Return the settings in force for a table; raises as ``WriteOptions.of``."""
        return WriteOptions.of(self.given, table)

    def assumes_stable(self, table: TableDescription) -> bool:
        """Say whether the caller vouches that no key ever changes its partition."""
        return opt.CROSS_PARTITION.value(self.given, table.properties) == "assume-stable"

    def with_mode(self, mode: WriteMode) -> AskedWrite:
        """Return the same write in a mode."""
        return replace(self, mode=mode)

    def replacing(self, where: Predicate) -> AskedWrite:
        """Return an overwrite of the partitions for which a filter holds."""
        return replace(self, mode=WriteMode.OVERWRITE, where=where)

    def of_batch(self, batch: StreamBatch) -> AskedWrite:
        """Return the write of one batch of a stream."""
        return replace(self, batch=batch)

    def of_stream(self, *, output_mode: str) -> AskedWrite:
        """Return what the batches of a stream are written with.

        Args:
            output_mode: Spark's: append, update or complete.

        Raises:
            InvalidInputError: what the two say cannot be done batch by batch.
        """
        if output_mode == "complete":
            raise InvalidInputError(
                "output mode 'complete' would replace the table in every batch; expected "
                "outputMode('update') on a table with the grouping columns as its key"
            )
        if self.mode is WriteMode.OVERWRITE:
            raise InvalidInputError(
                "option write-mode = 'overwrite' in a stream: every batch would replace the ones "
                "before; expected append, upsert or delete"
            )
        if output_mode == "update" and self.mode is WriteMode.APPEND:
            raise InvalidInputError(
                "output mode 'update' with write-mode = 'append': every row that changes would be "
                "added again; expected write-mode upsert"
            )
        if output_mode == "update" and self.mode is None:
            return self.with_mode(WriteMode.UPSERT)
        return self


def _with_known_publish(options: Mapping[str, str]) -> Mapping[str, str]:
    """Return the options, once what is looked at after the commit is known to be understood."""
    for later in (opt.PUBLISH, opt.PUBLISH_EVERY):
        later.value(options)
    return options


def _mode(options: Mapping[str, str], *, overwrite: bool) -> WriteMode | None:
    given = opt.WRITE_MODE.value(options)
    if overwrite and given not in (None, "overwrite"):
        raise InvalidInputError(
            f"option write-mode = {given!r} with mode('overwrite'); expected mode('append') with it"
        )
    if overwrite:
        return WriteMode.OVERWRITE
    return None if given is None else WriteMode(given)


def _batch(options: Mapping[str, str]) -> StreamBatch | None:
    query_id = opt.STREAM_QUERY_ID.value(options)
    batch_id = opt.STREAM_BATCH_ID.value(options)
    if query_id is None and batch_id is None:
        return None
    if query_id is None or batch_id is None:
        given, missing = opt.STREAM_QUERY_ID.name, opt.STREAM_BATCH_ID.name
        if query_id is None:
            given, missing = missing, given
        raise InvalidInputError(f"option {given} without {missing}; a batch is named by both")
    return StreamBatch(
        query_id=query_id,
        batch_id=batch_id,
        position=opt.STREAM_POSITION.value(options),
        follows=opt.STREAM_FOLLOWS.value(options),
    )


def _layout(options: Mapping[str, str]) -> dict[str, str]:
    sort_by, index = opt.SORT_BY.value(options), opt.INDEX.value(options)
    texts = {
        opt.SORT_COLUMNS.name: sort_by and sort_text(sort_by),
        opt.INDEX_COLUMNS.name: index and ",".join(index),
    }
    return {name: text for name, text in texts.items() if text}
