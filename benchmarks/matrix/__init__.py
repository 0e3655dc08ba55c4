"""Try which versions of what Arctic stands on work together: ``make matrix``."""
