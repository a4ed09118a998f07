"""Make a finished turn a node of the conversation graph, with its files and lines."""
