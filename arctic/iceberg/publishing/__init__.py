"""The merged view of a pair as one more Iceberg table, by reference to the files of the pair."""
