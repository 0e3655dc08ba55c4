"""Tables that follow a source: its events applied, its columns followed, its copies made.

The source is PostgreSQL, except in ``apply_events``, ``apply_messages`` and ``write_changes``.
"""
