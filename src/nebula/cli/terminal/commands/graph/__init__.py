"""Commands that look at the conversation as a graph, or go to another place in it."""
