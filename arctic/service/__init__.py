"""What looks after every table of a catalog by itself."""
