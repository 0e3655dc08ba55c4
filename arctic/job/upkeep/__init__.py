"""What keeps a table fast and small: looked at, optimized, expired."""
