"""Arctic beside its peers: one workload, one machine, every system in a process of its own."""
