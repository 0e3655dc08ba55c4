"""Independent tasks, wherever they run, and how far they are."""
