"""A merge: what its clauses do with rows of a source and of the table, with and without a key."""
