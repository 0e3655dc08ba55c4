"""Several catalogs in one process: each is a service of its own, beside the others."""
