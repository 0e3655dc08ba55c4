"""Commits of several threads to one store, and commits that heed the other store."""
