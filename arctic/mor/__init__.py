"""Merge-on-read: data files and their deletes in, surviving rows out, with pyarrow and numpy."""
