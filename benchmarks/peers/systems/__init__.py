"""The systems, each a script that runs in its own environment and answers one line for each call.

Rules: a script imports the standard library, what its environment installs, and neighbours in this
folder. Only Arctic's own scripts import Arctic.
"""
