"""What CALL runs: the verbs on a table, each with its parameters and the rows that it returns."""
