"""Frames of Spark's, spread over tasks and written by them."""
