"""Many tasks over many projects, each in a copy of its own: no task sees another, and no project is changed."""
