"""Catalogs in a database: SQLite asked many times a second, several rows heeded at a commit."""
