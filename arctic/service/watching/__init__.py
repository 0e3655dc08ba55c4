"""What the service sees of tables, and what it tells of them."""
