"""Deletion vectors: the dead rows of files, looked up once and remembered."""
