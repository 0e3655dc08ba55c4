"""The two columns of a position-delete file, as Iceberg's specification numbers and names them."""

from __future__ import annotations

DELETED_PATH_ID = 2147483546
DELETED_PATH_NAME = "file_path"
DELETED_POSITION_ID = 2147483545
DELETED_POSITION_NAME = "pos"
