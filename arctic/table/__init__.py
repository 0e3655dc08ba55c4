"""Pure nouns: tables, files, snapshots, predicates, commit plans."""
