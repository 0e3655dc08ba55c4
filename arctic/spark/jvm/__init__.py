"""The Java in Spark's own process, and the Python that it asks."""
