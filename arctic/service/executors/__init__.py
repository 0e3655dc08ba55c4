"""Where tasks run: a thread of the service, a process of its own, or a cluster."""
