"""Thin apps behind one gate: each handler parses, calls the room it serves, and answers."""
