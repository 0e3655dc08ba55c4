"""What every room of this edge needs: errors, types, quoted names, recorded calls."""
