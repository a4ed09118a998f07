"""A turn that is over becomes a node of the conversation graph, with its files and lines."""
