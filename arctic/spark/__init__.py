"""The PySpark edge: Spark's words in, Arctic's out; it decides nothing."""
