"""Rows of events in the types of their table: whole columns where the source has them so."""
