"""What a prompt that continues from a node is sent along with."""
