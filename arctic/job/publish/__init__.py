"""The merged view of a table, published for engines that read plain Iceberg."""
