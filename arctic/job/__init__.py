"""One read or one write from beginning to end, the same for Spark and for plain Arrow."""
