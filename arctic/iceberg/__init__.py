"""Iceberg metadata: catalogs, the table pair, its schemas, manifests and commits.

The only package that imports pyiceberg. Must not know: Spark, or what is inside a data file.
"""

from arctic.iceberg.blob_types import accept_any_blob_type

# Here, because no table may be loaded before: Amoro's optimizer writes blob types of its own.
accept_any_blob_type()
