"""Columns beside a table's own that say where a row is stored, and what is to become of it."""

from __future__ import annotations

FILE = "_arctic_file"
"""The path of its data file."""
POSITION = "_arctic_position"
"""Its number in that file, from 0."""
ACTION = "_arctic_action"
"""``D``: it goes. ``U``: this row takes its place. ``I``: this is a new row, stored nowhere."""
PLACE_COLUMNS = (ACTION, FILE, POSITION)
