"""Spark's own suites on Arctic's catalog: ``make spark-suites``."""
