"""Catalogs in a database: SQLite asked many times a second, and two rows compared at a commit."""
