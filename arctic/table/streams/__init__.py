"""Positions and batches of streams: where a reader is, what a writer has committed."""
