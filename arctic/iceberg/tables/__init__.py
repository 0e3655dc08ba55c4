"""The pair of stores that is one table: made, opened, changed, renamed and dropped together."""
