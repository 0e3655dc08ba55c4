"""Names of snapshots: tags of both stores, and branches of a store that is alone."""
