"""Rows of a table that are deleted, updated or merged by conditions, without Spark."""
