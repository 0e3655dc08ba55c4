"""Frames that are Parquet files as they lie, all rows of them: the plan tells which files.

Rules:
    - Only where Spark itself reads the files, row by row and as they say: no filter, no value
      that is made or comes out of a path, no option or setting that has it read anything else.
      Columns may have other names.
    - Nothing is run to find out, and whatever is not known means no.

Must not know: what the files are wanted for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from arctic.job.write.loads.rising_files import WholeFiles, may_rise, rising_shares
from arctic.job.write.loads.write_rising import write_rising
from arctic.job.write.write_job import WriteJob
from arctic.spark.base.private_names import is_classic, planned
from arctic.spark.base.spark_types import arrow_schema
from arctic.spark.tasks.spark_tasks import SparkRunner
from arctic.spark.write.narrow_input import thought_bytes

_PACKAGE = "org.apache.spark.sql."
_SOURCES = f"{_PACKAGE}execution.datasources."
_PROJECT = f"{_PACKAGE}catalyst.plans.logical.Project"
_EXPRESSIONS = f"{_PACKAGE}catalyst.expressions."
_ATTRIBUTE = f"{_EXPRESSIONS}AttributeReference"
_ALIAS = f"{_EXPRESSIONS}Alias"
_CHECKED = f"{_EXPRESSIONS}objects.AssertNotNull"
"""What an insert does to a column that takes no null. A write refuses nulls there by itself."""
_RELATION = f"{_SOURCES}LogicalRelation"
_FILES = f"{_SOURCES}HadoopFsRelation"
_PARQUET = f"{_SOURCES}parquet.ParquetFileFormat"
"""This class and no heir of it: tables of other formats have Parquet files with rows left out."""
_OF_LISTING = frozenset(
    {"path", "paths", "recursivefilelookup", "pathglobfilter", "modifiedafter", "modifiedbefore"}
)
"""Options that say which files there are, not what is read in them."""
_AS_FILES_SAY = {
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "corrected",
    "spark.sql.parquet.int96RebaseModeInRead": "corrected",
    "spark.sql.parquet.int96TimestampConversion": "false",
}
_BETWEEN = "\n\0"
_MOST_FILES = 2_000
"""More of them take long to name, and so do their footers to read."""
_FEW_BYTES = 4 << 20
"""Up to this, one task writes the rows as fast, and nothing is asked of any file."""


def whole_files(frame: DataFrame) -> WholeFiles | None:
    """Return the files that a frame is; None: they are very many, or it is something else.

    Args:
        frame: of any session; one of Spark Connect tells nothing.
    """
    if not is_classic(frame.sparkSession):
        return None
    try:
        return _found(frame)
    except (Py4JError, PySparkException):
        return None  # What Spark cannot plan it will say itself, when the rows are asked for.


def written_from_files(frame: DataFrame, job: WriteJob) -> bool:
    """Write and commit a frame out of the files that it is, where their rows rise by their keys.

    Args:
        frame: of any session.
        job: the write of it, as it began.

    Returns:
        Whether it was done; if not, nothing is left of it.

    Raises:
        ArcticError: as ``write_rising``.
    """
    if not may_rise(job):
        return False
    size_bytes = thought_bytes(frame)
    if size_bytes is None or size_bytes <= _FEW_BYTES:
        return False
    files = whole_files(frame)
    if files is None:
        return False
    runner = SparkRunner(frame.sparkSession)
    shares = rising_shares(job, files, arrow_schema(frame.schema), parallelism=runner.parallelism)
    return shares is not None and write_rising(job, shares, runner)


def _found(frame: DataFrame) -> WholeFiles | None:
    conf = frame.sparkSession.conf
    if any(str(conf.get(name)).lower() != text for name, text in _AS_FILES_SAY.items()):
        return None
    plan = planned(frame).optimizedPlan()
    wanted: list[int | None] = [_id(each) for each in _items(plan.output())]
    while _class(plan) == _PROJECT:
        read: dict[int | None, int | None] = {
            _id(each): _read_by(each) for each in _items(plan.projectList())
        }
        wanted = [read.get(each) for each in wanted]
        plan = plan.child()
    if _class(plan) != _RELATION or _class(plan.relation()) != _FILES:
        return None
    stored: dict[int | None, str] = {_id(each): str(each.name()) for each in _items(plan.output())}
    sources = [stored.get(each) for each in wanted]
    if None in sources or len(set(sources)) < len(sources):
        return None
    files = plan.relation()
    options = str(files.options().keySet().mkString(_BETWEEN))
    if _class(files.fileFormat()) != _PARQUET or not files.partitionSchema().isEmpty():
        return None
    if not {each.lower() for each in options.split(_BETWEEN) if each} <= _OF_LISTING:
        return None
    location = files.location()
    found = location.inputFiles()
    if len(found) > _MOST_FILES:
        return None
    paths = [_path(str(each)) for each in found]
    if None in paths or len(set(paths)) < len(paths):
        return None
    return WholeFiles(
        paths=tuple(path for path in paths if path is not None),
        size_bytes=int(location.sizeInBytes()),
        renamed={
            name: source
            for name, source in zip(frame.columns, sources, strict=True)
            if source is not None and source != name
        },
    )


def _class(thing: Any) -> str:
    return str(thing.getClass().getName())


def _items(sequence: Any) -> Iterator[Any]:
    """Yield what is in a sequence of Scala's."""
    for place in range(int(sequence.length())):
        yield sequence.apply(place)


def _id(expression: Any) -> int:
    return int(expression.exprId().id())


def _read_by(expression: Any) -> int | None:
    """Return the attribute whose values an expression has, by its id; None: it makes others."""
    if _class(expression) == _ALIAS:
        expression = expression.child()
    if _class(expression) == _CHECKED:
        expression = expression.child()
    return _id(expression) if _class(expression) == _ATTRIBUTE else None


def _path(uri: str) -> str | None:
    """Return the path of a file as its store has it; None: a URI may mean several.

    >>> _path("file:///a%20b"), _path("s3a://lake/x.parquet"), _path("s3a://lake/%41")
    ('/a b', 's3a://lake/x.parquet', None)
    """
    parts = urlsplit(uri)
    if parts.scheme == "file" and not parts.netloc:
        return unquote(parts.path)
    return None if "%" in uri else uri
