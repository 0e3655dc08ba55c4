"""A second table that begins with the files of another one, by reference."""
