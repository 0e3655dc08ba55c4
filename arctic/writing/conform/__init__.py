"""Rows as they are given, made to fit the table exactly or refused."""
