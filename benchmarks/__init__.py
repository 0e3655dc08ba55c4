"""Measurements that anyone can repeat: ``make bench``."""
