"""Loads: the first rows of a table, and rows of files that are written where they are read."""
