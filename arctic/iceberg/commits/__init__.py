"""One snapshot of one store, or nothing: staged, tried until it lands, never twice.

``commit`` is that of a write, ``commit_rewrite`` that of a run of optimizing; ``commit_loop`` tries.
"""
