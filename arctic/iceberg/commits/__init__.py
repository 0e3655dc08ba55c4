"""One snapshot of one store, or nothing: staged, tried until it lands, never twice.

``commit`` is that of a write, ``commit_rewrite`` that of optimizing, ``commit_loop`` the trying.
"""
