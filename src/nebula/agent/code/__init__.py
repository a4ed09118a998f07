"""What the agent knows of the code through its index: the map of the project, and whether citations hold."""
