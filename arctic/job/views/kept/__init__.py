"""What a refresh computes, by what kind of view it is: rows, groups, joins, their history."""
