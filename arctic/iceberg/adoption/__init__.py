"""Plain Iceberg tables that become the base store of a pair, and pairs that become plain again."""
