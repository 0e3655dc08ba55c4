"""One table over many commits: what becomes of upserts and queries while it changes."""
