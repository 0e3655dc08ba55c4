"""What a caller's options ask of a reader of changes, and its moments as those options.

Rules:
    - A start is exclusive and an end inclusive; ``stream-from-timestamp`` alone counts its own
      moment in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from arctic import options as opt
from arctic.errors import InvalidInputError
from arctic.iceberg.tables.open_table import OpenTable
from arctic.job.past_state import Moment, moment_options
from arctic.job.read.asked_read import ReadSettings
from arctic.job.reference import TableReference, table_reference
from arctic.options import Option, Scope
from arctic.scan.changes.change_limit import ChangeLimit

_STARTS: tuple[Option[Any], ...] = (
    opt.START_VERSION,
    opt.START_SNAPSHOT_ID,
    opt.START_TIMESTAMP,
    opt.STREAM_FROM_TIMESTAMP,
    opt.STREAM_FROM,
)
_ENDS: tuple[Option[Any], ...] = (opt.END_VERSION, opt.END_SNAPSHOT_ID, opt.END_TIMESTAMP)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsAsked:
    """How it is told what became of rows."""

    is_net: bool
    """The range is one change; else each commit is."""
    tells_updates: bool
    """Both sides of an update are called so; else delete and insert."""
    by_columns: bool
    """A row is as before where the columns that are read are; else all of its columns are asked,
    so that how many rows there are does not hang on what is read of them."""
    tells_expiry: bool = False
    """Rows that became too old are told as gone. No option says so: whoever follows a table has
    ages of its own, but a view is what its source has."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> RowsAsked | None:
        """Read the options; None: events are wanted.

        Raises:
            InvalidInputError: an option of rows beside events, or one that would make them wrong.
        """
        rows = opt.CHANGE_ROWS.value(options)
        if rows == "events":
            for option in (opt.CHANGE_UPDATES, opt.CHANGE_COMPARES):
                if _is_given(option, options):
                    raise InvalidInputError(
                        f"option {option.name} without {opt.CHANGE_ROWS.name}; expected 'commits' "
                        "or 'net' there too"
                    )
            return None
        if opt.SKIP_OVERWRITES.value(options):
            raise InvalidInputError(
                f"option {opt.SKIP_OVERWRITES.name} beside {opt.CHANGE_ROWS.name} = {rows!r}: the "
                "rows before a change are not known where commits are passed over"
            )
        return cls(
            is_net=rows == "net",
            tells_updates=opt.CHANGE_UPDATES.value(options),
            by_columns=opt.CHANGE_COMPARES.value(options) == "columns",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedChanges:
    """Which changes of which table, and how they are read."""

    reference: TableReference
    columns: tuple[str, ...] | None
    """In this order; None: all."""
    skips_overwrites: bool
    """Commits that replace rows without a change that says so are passed over."""
    rows: RowsAsked | None
    """What becomes of rows is wanted; None: the events as they are stored."""
    start_version: str | None
    """Exclusive; the number of a version, a tag or a snapshot."""
    start_snapshot_id: int | None
    start_after_ms: int | None
    """Exclusive."""
    starts_at_latest: bool
    """Without another start, the rows that are there now are left out."""
    end_version: str | None
    """Inclusive."""
    end_snapshot_id: int | None
    end_ms: int | None
    """Inclusive."""
    limit: ChangeLimit
    """Of what a stream takes at once."""
    consumer: str | None
    """The name of the place where a new stream begins, and that it moves."""
    given: Mapping[str, str] = field(repr=False)
    """All that the call gave, for what a property of the table may say as well."""

    @classmethod
    def of(cls, options: Mapping[str, str], scope: Scope = Scope.CHANGES) -> AskedChanges:
        """Read ``path``, catalog options and those of a batch of changes, or of a stream.

        Raises:
            InvalidInputError: an unknown option, a bad value, no table, or options that contradict
                each other.
        """
        options = opt.Texts.of(options)
        opt.check_known(options, scope)
        if opt.STORE.value(options) == "base":
            raise InvalidInputError("option store = 'base' for changes; expected 'change' or none")
        starts = _one_of(_STARTS, options)
        ends = _one_of(_ENDS, options)
        if ends and not starts:
            raise InvalidInputError(
                f"option {ends[0]} without a start; expected start-version, start-snapshot-id or "
                "start-timestamp too"
            )
        from_ms = opt.STREAM_FROM_TIMESTAMP.value(options)
        after_ms = opt.START_TIMESTAMP.value(options)
        return cls(
            reference=table_reference(options),
            columns=opt.COLUMNS.value(options),
            skips_overwrites=opt.SKIP_OVERWRITES.value(options),
            rows=RowsAsked.of(options),
            start_version=opt.START_VERSION.value(options),
            start_snapshot_id=opt.START_SNAPSHOT_ID.value(options),
            start_after_ms=after_ms if from_ms is None else from_ms - 1,
            starts_at_latest=opt.STREAM_FROM.value(options) == "latest",
            end_version=opt.END_VERSION.value(options),
            end_snapshot_id=opt.END_SNAPSHOT_ID.value(options),
            end_ms=opt.END_TIMESTAMP.value(options),
            limit=ChangeLimit(
                max_files=opt.MAX_FILES.value(options),
                max_bytes=opt.MAX_BYTES.value(options),
                max_rows=opt.MAX_ROWS.value(options),
            ),
            consumer=opt.CONSUMER_ID.value(options),
            given=options,
        )

    @property
    def is_open_ended(self) -> bool:
        """Whether a batch goes up to what is there now."""
        return self.end_version is None and self.end_snapshot_id is None and self.end_ms is None

    def settings(self, opened: OpenTable) -> ReadSettings:
        """Return the settings in force for a table; raises as ``ReadSettings.of``."""
        return ReadSettings.of(self.given, opened.table.properties)


def asks_for_changes(options: Mapping[str, str]) -> bool:
    """Say whether a batch read wants a range of changes, not a state of the table.

    >>> asks_for_changes({"END-timestamp": "5"}), asks_for_changes({"snapshot-id": "5"})
    (True, False)
    """
    return any(_is_given(option, options) for option in (*_STARTS[:3], *_ENDS))


def range_options(*, start: Moment | None, end: Moment | None) -> dict[str, str]:
    """Return the options that say the same as two moments.

    >>> range_options(start=77, end=78)
    {'start-snapshot-id': '77', 'end-snapshot-id': '78'}

    Raises:
        InvalidInputError: a time without a zone.
    """
    return {
        **moment_options("start", start, opt.START_SNAPSHOT_ID, opt.START_TIMESTAMP),
        **moment_options("end", end, opt.END_SNAPSHOT_ID, opt.END_TIMESTAMP),
    }


def _one_of(choices: tuple[Option[Any], ...], options: Mapping[str, str]) -> list[str]:
    given = [option.name for option in choices if _is_given(option, options)]
    if len(given) > 1:
        raise InvalidInputError(f"options {' and '.join(given)}: give only one of them")
    return given


def _is_given(option: Option[Any], options: Mapping[str, str]) -> bool:
    known = {name.lower() for name in option.names}
    return any(name.lower() in known for name in options)
