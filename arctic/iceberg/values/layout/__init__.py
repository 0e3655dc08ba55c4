"""How rows lie in the files of a table: what they are sorted by, what has bloom filters."""
