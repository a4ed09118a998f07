"""The agent over the Agent Client Protocol: an editor starts it and talks with it on standard input and output."""
