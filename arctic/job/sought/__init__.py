"""What the many rows of the source of a MERGE say of the rows of a table that they can equal."""
