"""The data folder: its lock, steps that several files share, numbered paths, node and flow files."""
