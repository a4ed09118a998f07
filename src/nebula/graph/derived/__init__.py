"""What can be thrown away at any time: the node index in SQLite, search, the metadata files. All SQL is here."""
