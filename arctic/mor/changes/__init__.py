"""Rows of the change store as events, in the order in which they happened."""
