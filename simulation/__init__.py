"""A day of a thousand tables in virtual time, driven by the code that the service drives."""
