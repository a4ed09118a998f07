"""Thin apps behind one gate: each handler reads the request, calls the room it serves, and answers."""
