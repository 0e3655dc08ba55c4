"""What a browser shows of tables: HTML from facts, and nothing that is not shipped with it."""
