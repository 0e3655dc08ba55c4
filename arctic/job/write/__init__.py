"""One write: prepared where the catalog is, carried out anywhere, committed once."""
