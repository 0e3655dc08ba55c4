"""One snapshot of one store, or nothing: staged, tried until it lands, never twice."""
