"""Catalogs that are asked over HTTP: every call to them ends."""
