"""Commands that change rows or states of a table, share it with other engines, or follow it."""
