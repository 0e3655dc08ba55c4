"""SQLite catalogs of this machine, asked many times a second."""
