"""What a view is of: its SQL parsed, told apart by how it can be kept, as statements."""
