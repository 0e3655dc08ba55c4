"""A FileIO that notes what it opens, in a file that a catalog property names."""

from __future__ import annotations

from pathlib import Path

from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO


class NotedIO(PyArrowFileIO):
    """PyIceberg's own, otherwise."""

    def new_input(self, location: str) -> PyArrowFile:
        """Note a path."""
        with Path(self.properties["noted.in"]).open("a") as note:
            note.write(f"{location}\n")
        return super().new_input(location)
