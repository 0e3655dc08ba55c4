"""MySQL and MariaDB: what their tables are, their rows, and their log of changes."""
