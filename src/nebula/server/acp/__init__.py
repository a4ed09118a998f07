"""The agent over the Agent Client Protocol: an editor starts it and talks to it on standard input and output."""
