"""Whole columns, the same under reading, writing and optimizing: types, keys as codes, orders."""
