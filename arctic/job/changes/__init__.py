"""The changes of a table between two positions, as batches and as rows."""
