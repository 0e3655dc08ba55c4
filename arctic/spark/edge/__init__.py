"""The calls of Spark's builders that Arctic adds to or answers itself."""
