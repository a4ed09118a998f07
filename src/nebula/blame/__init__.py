"""Who wrote a line: a fold over the states that turns found and left."""
