"""The databases that are mirrored, each as what a mirror asks of one."""
