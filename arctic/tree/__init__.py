"""Pure arithmetic of the arctic tree: nodes, the key hash, key ranges."""
