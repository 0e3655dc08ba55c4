"""Which table is worked on next, and by whom: decided from records and a time, nothing else."""
