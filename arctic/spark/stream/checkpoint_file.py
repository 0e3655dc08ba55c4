"""A small text beside the checkpoint of a stream, by way of Spark's own access to files.

A checkpoint is wherever Spark's default file system is, which only the JVM knows.

Rules:
    - What it holds makes a stream faster, never right: a text that is missing or cannot be read
      or written is as good as none.
    - It is replaced as a whole.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from arctic.spark.base.private_names import hadoop_settings, jvm

_FOLDER = "arctic"


class CheckpointFile:
    """One file in the folder ``arctic`` of a checkpoint; classic sessions only."""

    def __init__(self, session: SparkSession, checkpoint: str, name: str) -> None:
        self._session = session
        self._path = f"{checkpoint.rstrip('/')}/{_FOLDER}/{name}"

    def read(self) -> str | None:
        """Return the text; None where there is none."""
        try:
            files, path = self._opened()
            if not files.exists(path):
                return None
            stream = files.open(path)
            try:
                content = stream.readAllBytes()
            finally:
                stream.close()
        except Py4JError:
            return None
        return bytes(content).decode(errors="replace")

    def write(self, text: str) -> None:
        """Replace the text, as far as possible."""
        try:
            files, path = self._opened()
            files.mkdirs(path.getParent())
            stream = files.create(path, True)
            try:
                stream.write(bytearray(text.encode()))
            finally:
                stream.close()
        except Py4JError:
            return

    def _opened(self) -> tuple[Any, Any]:
        path = jvm(self._session).org.apache.hadoop.fs.Path(self._path)
        return path.getFileSystem(hadoop_settings(self._session)), path
