"""A catalog of Spark's: what it asks of tables and namespaces, answered."""
