"""Conversations of other agents, read from the records they leave and made turns of the graph."""
