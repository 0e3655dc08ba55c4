"""Whose files are whose: asked before a folder is given away or a file is deleted."""
