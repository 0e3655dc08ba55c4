"""How rows lie in the files of a table: by what they are sorted, of what there are filters."""
