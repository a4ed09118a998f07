"""Commands about what was said and done: sessions, the graph, lines and their turns, what comes in and goes out."""
