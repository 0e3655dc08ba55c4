"""What others have committed since a command read its rows, held against what it has read."""
