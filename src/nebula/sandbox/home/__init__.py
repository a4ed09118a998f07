"""What of the home a command sees: the tools that the user has installed there, and what settings say of places."""
