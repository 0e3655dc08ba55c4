"""What the service did: its processes and their tasks, in a file that may be lost without harm."""
