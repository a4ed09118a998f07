"""Checks of a project: finding them, running them, and having their failures repaired."""
