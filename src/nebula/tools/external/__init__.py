"""Tools of others: those of MCP servers that the user configured."""
