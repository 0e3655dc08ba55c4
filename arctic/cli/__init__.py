"""The terminal face: look at tables without Spark."""
