"""Which rows are dead: by key, by position, or known beforehand.

The rule by which a delete kills a row is ``DeleteIndex.are_dead``.
"""
