"""Rows that have ids, as format version 3 counts them."""
