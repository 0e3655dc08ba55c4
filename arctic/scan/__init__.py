"""Pure planning: which files a read needs, and how they are grouped for parallel tasks."""
