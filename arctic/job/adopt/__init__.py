"""Plain Iceberg tables taken into the house: their keys looked at, and given back."""
