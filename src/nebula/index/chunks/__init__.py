"""From the bytes of a file to its chunks."""
