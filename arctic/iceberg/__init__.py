"""Iceberg metadata: catalogs, the table pair, its schemas, manifests and commits.

The only package that imports pyiceberg. Must not know: Spark, or what is inside a data file.
"""
