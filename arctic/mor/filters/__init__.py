"""Which rows match a filter, and which row groups cannot hold one that does."""
