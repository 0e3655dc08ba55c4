"""``mode("upsert")`` and ``mode("delete")`` on Spark's own DataFrameWriter, for our format only.

Rules:
    - The order of calls is free: a mode that Spark does not know is kept until it is clear which
      format it is for. Any other format then gets its native behaviour, and its native error.
    - Every ``save()`` in our format spreads its rows over tasks first; see ``spread``.
    - ``saveAsTable`` of a table of our catalog is Spark's own, by which it has no key, unless a key
      or a mode of ours is said, or overwrite: then rows are replaced, not the table; or columns
      are merged into one that is there, which Spark would refuse.
    - What Spark has cached of a table is made anew after ``saveAsTable``, as after Spark's own.
    - Option ``optimize`` is carried out here, after the write, because only here is a session.
    - What reaches the source another way (SQL, ``insertInto``) works without, in the mode that
      the relation's options say, or else the table. ``mode("append")`` is only told to be one here:
      Spark gives the source both alike.

Must not know: tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from arctic.errors import InvalidInputError
from arctic.iceberg.tables.new_table import taken_back_on_failure
from arctic.job.publish.after_write import after_write
from arctic.job.reference import placed
from arctic.job.write.asked_write import AskedWrite
from arctic.job.write.new_only import NEW_ONLY_MODES
from arctic.job.write.write_job import begin_write
from arctic.options import (
    MERGE_SCHEMA,
    OPTIMIZE,
    PARTITION_BY,
    PRIMARY_KEY,
    PUBLISH,
    SAVE_MODE,
    WRITE_MODE,
    Scope,
    check_known,
)
from arctic.spark.base.error_surface import named_errors
from arctic.spark.base.private_names import frame_of, has_cached, is_classic
from arctic.spark.base.recorded_calls import (
    Asked,
    Call,
    given_names,
    leave_alone,
    names_of,
    record_calls,
    texts_of,
)
from arctic.spark.base.sealed import sealed
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.edge.catalog_names import options_of_name
from arctic.spark.jvm.extension import saves_on_server
from arctic.spark.source import FORMAT, NO_ENTRIES
from arctic.spark.tasks.spark_tasks import SparkRunner
from arctic.spark.tasks.workers import check_workers
from arctic.spark.write.save_rows import save_rows, settled_new
from arctic.spark.write.spread import spread_rows

OWN_MODES = frozenset({"upsert", "delete"})
_SPARKS_DEFAULT = "error"

# Ends of a chain of calls other than save(): there, a mode of ours is none.
ENDS = ("csv", "insertInto", "jdbc", "json", "orc", "parquet", "saveAsTable", "text", "xml")
LAYOUTS = ("bucketBy", "clusterBy", "sortBy")


@dataclass(slots=True, kw_only=True)
class _Asked(Asked):
    """What was said to one writer so far."""

    mode: str | None = None
    own_mode: str | None = None
    """As the user spelt it; not yet told to Spark."""
    layouts: list[str] = field(default_factory=list)


def install_save_modes(writer_class: type) -> None:
    """Teach a DataFrameWriter class, classic or Connect; again is harmless."""
    record_calls(
        writer_class,
        _Asked,
        {
            "mode": _mode,
            "partitionBy": _partition_by,
            "save": _save,
            **dict.fromkeys(LAYOUTS, _layout),
            **dict.fromkeys(ENDS, _end),
            "saveAsTable": _save_as_table,
        },
    )


def _mode(call: Call[_Asked], saveMode: Any) -> Any:
    if isinstance(saveMode, str) and saveMode.lower() in OWN_MODES:
        call.asked.own_mode = saveMode
        return call.builder
    result = call.native(saveMode)
    if saveMode is not None:
        call.asked.mode, call.asked.own_mode = saveMode, None
    return result


def _partition_by(call: Call[_Asked], *cols: Any) -> Any:
    call.asked.partition_by = cols
    return call.native(*cols)


def _layout(call: Call[_Asked], /, *args: Any, **kwargs: Any) -> Any:
    call.asked.layouts.append(call.name)
    return call.native(*args, **kwargs)


def _end(call: Call[_Asked], /, *args: Any, **kwargs: Any) -> Any:
    if call.asked.own_mode is not None:
        call.spark("mode", call.asked.own_mode)  # Refuses it.
    return call.alone(call.name, *args, **kwargs)


def _save_as_table(
    call: Call[_Asked],
    /,
    name: str,
    format: str | None = None,
    mode: str | None = None,
    partitionBy: Any = None,
    **options: Any,
) -> Any:
    asked = call.asked
    frame = frame_of(call.builder)
    place = options_of_name(frame.sparkSession, name)
    if place is None:
        if asked.is_of(FORMAT, format):
            raise InvalidInputError(f"saveAsTable({name!r}): {NO_ENTRIES}")
        return _end(call, name, format, mode, partitionBy, **options)
    chosen = (mode or asked.own_mode or asked.mode or _SPARKS_DEFAULT).lower()
    given = {**asked.options, **texts_of(options)}
    key, merges = PRIMARY_KEY.value(given), MERGE_SCHEMA.value(given)
    goes_on = (chosen == "overwrite" or (merges and chosen == "append")) and (
        frame.sparkSession.catalog.tableExists(name)
    )
    if key is None and not goes_on and chosen not in OWN_MODES:
        return _end(call, name, format, mode, partitionBy, **options)
    if chosen == "append" and goes_on:
        asked_write = AskedWrite.of({**given, **place})
        chosen = asked_write.mode_for(asked_write.reference.open().table).value
    elif chosen == "append" and key:
        chosen = "upsert"  # as INSERT INTO does
    path = place.pop("path")
    _save(call, path, FORMAT, chosen, partitionBy, **{**options, **place})
    if has_cached(frame.sparkSession):
        frame.sparkSession.catalog.refreshTable(name)
    return None


def _save(
    call: Call[_Asked],
    /,
    path: str | None = None,
    format: str | None = None,
    mode: str | None = None,
    partitionBy: Any = None,
    **options: Any,
) -> None:
    asked = call.asked
    if not asked.is_of(FORMAT, format):
        _end(call, path, format, mode, partitionBy, **options)
        return
    _refuse_layouts(asked)
    check_known([*asked.names, *given_names(options)], Scope.WRITE)
    columns = names_of(*asked.partition_by) if partitionBy is None else names_of(partitionBy)
    given = _with_partitions({**asked.options, **texts_of(options)}, columns)
    if path is not None:
        given["path"] = str(path)
    chosen = _chosen_mode(call, mode or asked.own_mode or asked.mode)
    frame = frame_of(call.builder)
    if saves_on_server(frame.sparkSession):
        _save_on_server(frame, given, chosen)
        return
    given = placed(given)
    check_workers(frame.sparkSession)
    if chosen not in NEW_ONLY_MODES:
        _write(frame, given, chosen)
        return
    with taken_back_on_failure():
        settled = settled_new(frame, given, mode=chosen)
        if settled is not None:
            _write(frame, settled, "append")


def _save_on_server(frame: DataFrame, options: dict[str, str], mode: str) -> None:
    """Have the server do all that is done here for a session with a JVM beside it."""
    given, chosen = dict(options), "overwrite" if mode == "overwrite" else "append"
    if mode in OWN_MODES:
        given = _with_mode(given, mode)
    elif mode == "append":
        given.setdefault(WRITE_MODE.name, "append")
    elif mode in NEW_ONLY_MODES:
        given[SAVE_MODE.name] = mode
    _save_natively(frame, given, chosen)


def _write(frame: DataFrame, options: dict[str, str], mode: str) -> None:
    given, chosen = dict(options), mode
    if chosen in OWN_MODES:
        given = _with_mode(given, chosen)
        chosen = "append"
    elif chosen == "append":
        given.setdefault(WRITE_MODE.name, "append")
    if is_classic(frame.sparkSession):
        save_rows(frame, given, overwrite=chosen == "overwrite")
        return
    asked = AskedWrite.of(given, overwrite=chosen == "overwrite")
    given |= {later.name: "none" for later in (OPTIMIZE, PUBLISH)}
    with taken_back_on_failure():
        job = begin_write(asked, arrow_schema(frame.schema))
        spread = spread_rows(frame, job)
        _save_natively(spread.frame, {**given, **spread.told}, chosen)
    properties = job.target.table.properties
    after_write(asked, properties, SparkRunner(frame.sparkSession), optimizes=asked.optimizes)


def _save_natively(frame: DataFrame, options: Mapping[str, str], mode: str) -> None:
    writer = frame.write
    leave_alone(writer, _Asked())
    writer.format(FORMAT).options(**sealed(options)).mode(mode)
    with named_errors():
        writer.save()


def _chosen_mode(call: Call[_Asked], mode: str | None) -> str:
    if mode is None:
        return _SPARKS_DEFAULT
    if mode.lower() in OWN_MODES:
        return mode.lower()
    call.spark("mode", mode)  # Refuses what nobody knows.
    return _SPARKS_DEFAULT if mode.lower() == "default" else mode.lower()


def _refuse_layouts(asked: _Asked) -> None:
    if asked.layouts:
        raise InvalidInputError(
            f"{asked.layouts[0]}() with format {FORMAT!r}: the table decides where its rows go; "
            "leave the call out"
        )


def _with_mode(options: dict[str, str], mode: str) -> dict[str, str]:
    given = options.get(WRITE_MODE.name, mode)
    if given.strip().lower() != mode:
        raise InvalidInputError(
            f"option {WRITE_MODE.name} = {given!r} with mode({mode!r}); expected one of them"
        )
    return {**options, WRITE_MODE.name: mode}


def _with_partitions(options: dict[str, str], columns: tuple[str, ...]) -> dict[str, str]:
    if not columns:
        return options
    text = ", ".join(columns)
    for name in map(str.lower, PARTITION_BY.names):
        if name in options:
            raise InvalidInputError(
                f"option {name} = {options[name]!r} with partitionBy({text!r}); "
                "expected one of them"
            )
    return {**options, PARTITION_BY.name.lower(): text}
