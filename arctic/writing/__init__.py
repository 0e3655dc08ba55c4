"""Rows to finished data files, and finished files to commit plans."""
