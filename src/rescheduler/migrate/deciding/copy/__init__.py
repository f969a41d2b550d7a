"""Copy: the same for a pod that nobody controls; we evict the original ourselves. Pure."""
