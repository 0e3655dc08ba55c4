"""Predicates: what a filter is once it is parsed, and how its parts are negated and joined."""
