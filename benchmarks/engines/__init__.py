"""Which engines read a published table right: tried with each of them, ``make engines``."""
