"""Embedders: from texts to vectors. Optional; without one the index searches by words alone."""
