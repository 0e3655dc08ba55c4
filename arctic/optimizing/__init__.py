"""Folding changes into base and small files into large ones: evaluate, plan, execute."""
