"""Files that may lie in a stranger's folder: opened from a descriptor, limited, never blocking, never leaving."""
