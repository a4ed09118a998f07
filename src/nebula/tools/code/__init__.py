"""What the code index offers a model: searching it, and the outline of a file."""
