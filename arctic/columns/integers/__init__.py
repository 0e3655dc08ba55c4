"""Whole columns of 64-bit integers, such as the numbers of rows, as sets."""
