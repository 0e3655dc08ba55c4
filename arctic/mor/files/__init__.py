"""One Parquet file as a reader wants it: checked, its row groups, its columns by field id."""
