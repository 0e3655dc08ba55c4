"""Snapshots and files that nobody needs any more, taken away."""
