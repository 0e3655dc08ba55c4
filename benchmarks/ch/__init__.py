"""Transactions at work in PostgreSQL, their mirror, and 22 analytic queries on it."""
