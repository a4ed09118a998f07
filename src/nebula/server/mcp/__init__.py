"""The guarded tools over the Model Context Protocol."""
