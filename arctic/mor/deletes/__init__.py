"""Which rows are dead: by key, by position, or known beforehand."""
