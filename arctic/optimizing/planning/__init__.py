"""What a run does, decided from the lists of files alone: evaluate, select, divide, balance."""
