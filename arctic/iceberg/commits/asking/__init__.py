"""Attempts at commits, and how a catalog is asked for them: one alone, or several at once."""
