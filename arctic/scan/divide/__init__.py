"""Node tasks of equal weight, packed into as many groups as there are readers."""
