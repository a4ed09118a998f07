"""The conversation as a graph of prompt/answer nodes kept in plain text files.

Start at `graph.Graph`; the values it hands out are in `values`, what it raises is in `errors`.
Importing this package imports nothing: YAML and SQLite are loaded by the calls that need them.
"""
