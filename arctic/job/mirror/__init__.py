"""Tables that follow a source: its events applied, its columns followed, its copies made."""
