"""Many processes on the same tables for minutes on end, compared with an oracle: ``make soak``."""
