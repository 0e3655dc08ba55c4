"""Commits in one request: of several threads to one store, or beside a look at the other one."""
