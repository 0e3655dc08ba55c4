"""States that a table was in: named, listed, brought back."""
