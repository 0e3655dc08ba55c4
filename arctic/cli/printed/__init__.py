"""What commands print: facts, rows, trees; text for people, JSON for programs."""
