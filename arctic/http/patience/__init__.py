"""Who keeps others waiting, and for how long: callers who stop, and tables whose storage hangs."""
