"""Views that are kept in tables: made from a statement, and kept up from changes of its sources."""
