"""Tasks of a cluster: how they are run and watched, and the Python they run in."""
