"""Folding changes into base and small files into large ones: evaluate, plan, execute.

``arctic/job/upkeep/optimize_job.py`` runs the three, and commits by ``commit_rewrite``.
"""
