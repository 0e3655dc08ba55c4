"""What metadata says as values: types, literals, partitions, names of tables and columns."""
