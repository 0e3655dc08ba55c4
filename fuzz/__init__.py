"""Damage to every kind of file of a table, and what becomes of reads: ``make fuzz``."""
