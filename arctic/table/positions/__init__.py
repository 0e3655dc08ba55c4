"""Rows by where they are: a file, and a position in it."""
