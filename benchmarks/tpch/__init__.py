"""TPC-H with its refreshes: the 22 queries before them, over them, and after upkeep."""
