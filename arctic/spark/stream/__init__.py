"""Streams of Spark's, out of tables and into them."""
