"""The catalogs: how one is opened, kept right under many processes, and the newest of a store."""
