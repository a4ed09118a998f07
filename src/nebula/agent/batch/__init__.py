"""Many tasks over many projects, each in a place of its own, so that none sees the others and no project is touched."""
