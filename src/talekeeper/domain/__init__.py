"""Frozen values and pure rules. Knows nothing of storage, files, models or the clock."""
