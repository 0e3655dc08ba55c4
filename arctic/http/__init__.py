"""The HTTP face of the service: calls in, JSON out; it decides nothing."""
