"""Tables that make one row of all rows of a key: read, and folded."""
