"""``mode("upsert")`` and ``mode("delete")`` on Spark's own DataFrameWriter, for our format only.

Rules:
    - The order of calls is free: a mode that Spark does not know is kept until it is clear which
      format it is for. Any other format then gets its native behaviour, and its native error.
    - Every ``save()`` in our format spreads its rows over tasks first; see ``spread``.
    - Option ``optimize`` is carried out here, after the write, because only here is a session.
    - What reaches the source another way (SQL, ``insertInto``) works without, in the mode that
      the relation's options say, or else the table. ``mode("append")`` is only told to be one here:
      Spark gives the source both alike.

Must not know: tables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from arctic.errors import InvalidInputError
from arctic.job.auto_optimize import optimize_after_write, optimizes_after_write
from arctic.job.first_write import taken_back_on_failure
from arctic.job.new_only import NEW_ONLY_MODES, create_for_write
from arctic.job.reference import placed
from arctic.options import OPTIMIZE, Scope, check_known
from arctic.spark.error_surface import named_errors
from arctic.spark.patched_calls import ASKED, given_names, names_of, patch_call, texts_of
from arctic.spark.reader_options import sealed
from arctic.spark.run_tasks import SparkRunner
from arctic.spark.source import FORMAT, NO_ENTRIES
from arctic.spark.spread import spread_rows
from arctic.spark.types import arrow_schema
from arctic.spark.workers import check_workers
from arctic.spark.write_frame import write_frame

OWN_MODES = frozenset({"upsert", "delete"})
_SPARKS_DEFAULT = "error"

# Ends of a chain of calls other than save(): there, a mode of ours is none.
ENDS = ("csv", "insertInto", "jdbc", "json", "orc", "parquet", "saveAsTable", "text", "xml")
LAYOUTS = ("bucketBy", "clusterBy", "sortBy")
_INSTALLED = "_arctic_save_modes"


@dataclass(slots=True)
class _Asked:
    """What was said to one writer so far."""

    format: str | None = None
    mode: str | None = None
    own_mode: str | None = None
    """As the user spelt it; not yet told to Spark."""
    options: dict[str, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    """Of the options, as the user spelt them."""
    partition_by: tuple[str, ...] = ()
    layouts: list[str] = field(default_factory=list)
    is_native: bool = False
    """Inside a call that belongs to Spark alone."""


def install_save_modes(writer_class: type) -> None:
    """Teach a DataFrameWriter class, classic or Connect; again is harmless."""
    if _INSTALLED in vars(writer_class):
        return
    native = {
        name: getattr(writer_class, name)
        for name in ("format", "mode", "option", "options", "partitionBy", "save", *LAYOUTS, *ENDS)
    }
    setattr(writer_class, _INSTALLED, True)
    ours: dict[str, Callable[..., Any]] = {
        "mode": _mode,
        "format": _format,
        "option": _option,
        "options": _options,
        "partitionBy": _partition_by,
        "save": functools.partial(_save, native),
        **{name: functools.partial(_layout, name) for name in LAYOUTS},
        **{name: functools.partial(_end, native["mode"]) for name in ENDS},
        "saveAsTable": functools.partial(_save_as_table, native["mode"]),
    }
    for name, call in ours.items():
        patch_call(writer_class, name, native[name], call, _Asked)


def _mode(native: Callable[..., Any], self: Any, asked: _Asked, saveMode: Any) -> Any:
    if isinstance(saveMode, str) and saveMode.lower() in OWN_MODES:
        asked.own_mode = saveMode
        return self
    result = native(saveMode)
    if saveMode is not None:
        asked.mode, asked.own_mode = saveMode, None
    return result


def _format(native: Callable[..., Any], self: Any, asked: _Asked, source: Any) -> Any:
    asked.format = source
    return native(source)


def _option(native: Callable[..., Any], self: Any, asked: _Asked, key: Any, value: Any) -> Any:
    asked.options |= texts_of({key: value})
    asked.names += given_names({key: value})
    return native(key, value)


def _options(native: Callable[..., Any], self: Any, asked: _Asked, **options: Any) -> Any:
    asked.options |= texts_of(options)
    asked.names += given_names(options)
    return native(**options)


def _partition_by(native: Callable[..., Any], self: Any, asked: _Asked, *cols: Any) -> Any:
    asked.partition_by = names_of(*cols)
    return native(*cols)


def _layout(
    name: str, native: Callable[..., Any], self: Any, asked: _Asked, /, *args: Any, **kwargs: Any
) -> Any:
    asked.layouts.append(name)
    return native(*args, **kwargs)


def _end(
    native_mode: Callable[..., Any],
    native: Callable[..., Any],
    self: Any,
    asked: _Asked,
    /,
    *args: Any,
    **kwargs: Any,
) -> Any:
    asked.is_native = True
    try:
        if asked.own_mode is not None:
            native_mode(self, asked.own_mode)
        return native(*args, **kwargs)
    finally:
        asked.is_native = False


def _save_as_table(
    native_mode: Callable[..., Any],
    native: Callable[..., Any],
    self: Any,
    asked: _Asked,
    /,
    name: str,
    format: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    source = format or asked.format
    if isinstance(source, str) and source.lower() == FORMAT:
        raise InvalidInputError(f"saveAsTable({name!r}): {NO_ENTRIES}")
    return _end(native_mode, native, self, asked, name, format, *args, **kwargs)


def _save(
    natives: Mapping[str, Callable[..., Any]],
    native: Callable[..., Any],
    self: Any,
    asked: _Asked,
    /,
    path: str | None = None,
    format: str | None = None,
    mode: str | None = None,
    partitionBy: Any = None,
    **options: Any,
) -> None:
    source = format or asked.format
    if not isinstance(source, str) or source.lower() != FORMAT:
        _end(natives["mode"], native, self, asked, path, format, mode, partitionBy, **options)
        return
    _refuse_layouts(asked)
    check_known([*asked.names, *given_names(options)], Scope.WRITE)
    columns = asked.partition_by if partitionBy is None else names_of(partitionBy)
    given = _with_partitions({**asked.options, **texts_of(options)}, columns)
    if path is not None:
        given["path"] = str(path)
    given = placed(given)
    chosen = _chosen_mode(self, mode or asked.own_mode or asked.mode, natives["mode"])
    frame = _frame(self)
    check_workers(frame.sparkSession)
    if chosen not in NEW_ONLY_MODES:
        _write(frame, given, chosen)
        return
    with taken_back_on_failure():
        settled = create_for_write(given, arrow_schema(frame.schema), mode=chosen)
        if settled is not None:
            _write(frame, settled, "append")


def _write(frame: DataFrame, options: dict[str, str], mode: str) -> None:
    given, chosen = dict(options), mode
    if chosen in OWN_MODES:
        given = _with_mode(given, chosen)
        chosen = "append"
    elif chosen == "append":
        given.setdefault("write-mode", "append")
    optimizes = optimizes_after_write(given)
    given.pop(OPTIMIZE.name, None)
    with taken_back_on_failure():
        spread, told = spread_rows(frame, given, overwrite=chosen == "overwrite")
        if hasattr(frame.sparkSession, "_jsparkSession"):
            write_frame(spread, {**given, **told}, overwrite=chosen == "overwrite")
        else:
            _save_natively(spread, {**given, **told}, chosen)
    if optimizes:
        optimize_after_write(given, SparkRunner(frame.sparkSession))


def _save_natively(frame: DataFrame, options: Mapping[str, str], mode: str) -> None:
    writer = frame.write
    writer.__dict__[ASKED] = _Asked(is_native=True)
    writer.format(FORMAT).options(**sealed(options)).mode(mode)
    with named_errors():
        writer.save()


def _chosen_mode(self: Any, mode: str | None, native_mode: Callable[..., Any]) -> str:
    if mode is None:
        return _SPARKS_DEFAULT
    if mode.lower() in OWN_MODES:
        return mode.lower()
    native_mode(self, mode)  # Refuses what nobody knows.
    return _SPARKS_DEFAULT if mode.lower() == "default" else mode.lower()


def _refuse_layouts(asked: _Asked) -> None:
    if asked.layouts:
        raise InvalidInputError(
            f"{asked.layouts[0]}() with format {FORMAT!r}: the table decides where its rows go; "
            "leave the call out"
        )


def _with_mode(options: dict[str, str], mode: str) -> dict[str, str]:
    given = options.get("write-mode", mode)
    if given.strip().lower() != mode:
        raise InvalidInputError(
            f"option write-mode = {given!r} with mode({mode!r}); expected one of them"
        )
    return {**options, "write-mode": mode}


def _with_partitions(options: dict[str, str], columns: tuple[str, ...]) -> dict[str, str]:
    if not columns:
        return options
    text = ", ".join(columns)
    for name in ("partitionby", "partition-by"):
        if name in options:
            raise InvalidInputError(
                f"option {name} = {options[name]!r} with partitionBy({text!r}); "
                "expected one of them"
            )
    return {**options, "partitionby": text}


def _frame(writer: Any) -> DataFrame:
    if isinstance(writer._df, DataFrame):
        return writer._df
    # A Connect writer holds the plan of its frame. Its module needs packages that classic Spark
    # does not, so it is imported only where it is there already.
    from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame  # noqa: PLC0415

    return ConnectFrame(writer._df, writer._spark)
