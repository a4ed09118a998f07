"""The data folder: its lock and journal, numbered paths, node and flow files."""
