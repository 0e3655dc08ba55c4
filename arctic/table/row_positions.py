"""Rows by where they are: a file, and a position in it; the columns that say so.

Position-delete files have two columns, which Iceberg's specification numbers and names.
"""

from __future__ import annotations

DELETED_PATH_ID = 2147483546
DELETED_PATH_NAME = "file_path"
DELETED_POSITION_ID = 2147483545
DELETED_POSITION_NAME = "pos"

FILE = "_arctic_file"
"""Beside the columns of a table: the path of the data file of a row."""
POSITION = "_arctic_position"
"""Its number in that file, from 0."""
ACTION = "_arctic_action"
"""What becomes of the row that is stored there. ``D``: it goes. ``U``: this row takes its place.
``I``: this is a new row, stored nowhere."""
PLACE_COLUMNS = (ACTION, FILE, POSITION)
