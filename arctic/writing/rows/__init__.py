"""Rows between a frame and its files: routed, collapsed by key, held until there are enough."""
