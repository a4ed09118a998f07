"""Commands that serve the agent to others: pages, editors, clients of the Model Context Protocol."""
