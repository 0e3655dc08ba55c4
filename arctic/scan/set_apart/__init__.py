"""Files that another reader can take: clean ones, and ones whose dead rows are known."""
