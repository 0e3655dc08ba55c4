"""What a write looked up in its table, brought up to what others have committed since."""
