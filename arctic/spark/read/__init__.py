"""Reads as Spark asks for them: what a scan wants, and the rows of one of its partitions."""
