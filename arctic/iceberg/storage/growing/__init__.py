"""Metadata that grows with every commit, and is not gone over as a whole by each."""
