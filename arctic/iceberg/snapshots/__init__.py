"""One state of a table, pinned: its live files, the changes since, what can be told of it."""
