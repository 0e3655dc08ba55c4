"""Surviving rows of a task in order, with bounded memory."""
