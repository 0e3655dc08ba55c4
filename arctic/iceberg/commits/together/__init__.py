"""Commits of several threads to one store, carried out by one of them for all."""
