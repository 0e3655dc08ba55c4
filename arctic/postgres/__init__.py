"""PostgreSQL: what its tables are, their rows, and its log of changes."""
