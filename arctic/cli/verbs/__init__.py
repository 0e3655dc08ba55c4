"""Commands that change what rows a table holds: by conditions, and back to earlier states."""
