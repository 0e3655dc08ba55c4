"""Plans for readers of changes: what one may take, and its tasks."""
