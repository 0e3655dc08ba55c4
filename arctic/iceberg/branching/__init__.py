"""Branches of tables without a key: a second head of one store, read and written as a table."""
