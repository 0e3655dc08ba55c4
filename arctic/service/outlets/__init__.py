"""Events told to others: by HTTP or by a command, never in the way of work."""
